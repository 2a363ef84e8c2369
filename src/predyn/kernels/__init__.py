"""Compiled kernels: SIMD lanes, spatial algebra, batch drivers and the kernel cache on disk."""

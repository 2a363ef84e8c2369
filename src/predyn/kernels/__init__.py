"""From numbers to the machine: SIMD lanes, spatial algebra, batch drivers, kernels on disk."""

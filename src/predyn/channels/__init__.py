"""What a motion causes, one channel a file: values, exact partials, weighted second partials."""

def snippet(x: object) -> str:
    return ""

"""Runs Kafka's own command-line tools and shows what they said when they fail."""

TAIL_CHARS = 4000


def run_java(
    class_name: str, *args: str, input: str | None = None, timeout_s: float = 60.0, code: int = 0
) -> str:
    """What the tool printed (both streams); its exit code must be the expected one."""
    from tools.apache_kafka import run_tool

    done = run_tool(class_name, args, input=input, timeout=timeout_s)
    output = done.stdout + done.stderr
    assert done.returncode == code, (
        f"{class_name} {' '.join(args)} ended with {done.returncode}:\n{output[-TAIL_CHARS:]}"
    )
    return output

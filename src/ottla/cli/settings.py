"""The options that every command which starts a broker has: --port, --data-dir and --set."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping

from ottla.config.load import load
from ottla.config.table import Settings


def add_setting_arguments(parser: argparse.ArgumentParser) -> None:
    """What overrides the properties file and the environment."""
    parser.add_argument(
        "--port", type=int, metavar="P", help="listen on this port of localhost; 0 takes a free one"
    )
    parser.add_argument("--data-dir", metavar="D", help="where the logs are kept (log.dirs)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="assignments",
        metavar="NAME=VALUE",
        help="a setting by Kafka's name; may be given again",
    )


def load_settings(
    arguments: argparse.Namespace, properties: str | None, defaults: Mapping[str, str] | None = None
) -> Settings:
    """Everything that was said, the later the stronger: defaults, file, environment, options."""
    assignments = []
    if arguments.data_dir is not None:
        assignments.append(f"log.dirs={arguments.data_dir}")
    if arguments.port is not None:
        assignments.append(f"listeners=PLAINTEXT://localhost:{arguments.port}")
    return load(properties, os.environ, assignments + arguments.assignments, defaults or {})

"""A dispatcher that meets requests with the fault rules of a test, and remembers what it saw."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Final

from ottla.base.errors import ProtocolError
from ottla.base.log import logger
from ottla.broker.apis import Api
from ottla.broker.connection import Connection
from ottla.broker.context import Broker, RequestContext
from ottla.broker.dispatch import Dispatcher
from ottla.broker.reply import Buffers, CloseConnection, Pending, Reply
from ottla.broker.topic_views import nodes
from ottla.protocol.api_keys import ApiKey
from ottla.protocol.apis.metadata import MetadataResponseBroker
from ottla.protocol.codec import decode_request, encode_response
from ottla.protocol.header import RequestHeader, parse_request_header
from ottla.testing.refusals import refuse
from ottla.testing.rules import DELAY, DROP, FAIL, LOSE_ANSWER, FaultRule, FaultRules
from ottla.testing.sightings import Sightings

log = logger(__name__)

_A_RULE: Final = "a fault rule of a test says so"

"""What docs say of the Python clients is true of the code: names exist, blocks compile, every method has its row."""

import re
from pathlib import Path

import pytest

import ottla
from ottla.client.consumer_settings import ConsumerSettings
from ottla.client.producer_settings import ProducerSettings
from ottla.client.settings import rows_of
from tools.render_clients import CLIENTS, public

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("clients.md", "client-recipes.md", "coming-from-other-clients.md")


@pytest.mark.parametrize("page", PAGES)
def test_every_name_in_the_text_exists(page: str) -> None:
    text = (DOCS / page).read_text()
    pattern = rf"\b((?:Async)?(?:{'|'.join(CLIENTS)}))\.(\w+)"
    for kind, method in re.findall(pattern, text):
        assert hasattr(getattr(ottla, kind), method), f"{kind}.{method} in {page}"
    for name in re.findall(r"\bottla\.([A-Z]\w+)", text):
        assert name in ottla.__all__, f"ottla.{name} in {page}"


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_code_compiles_and_calls_what_there_is(page: str) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    variables = {"producer": ottla.AsyncProducer, "consumer": ottla.Consumer, "admin": ottla.Admin}
    for block in blocks:
        compile(block, page, "exec")
        for variable, method in re.findall(r"\b(producer|consumer|admin)\.(\w+)\(", block):
            assert hasattr(variables[variable], method), f"{variable}.{method} in {page}"
        known = {**rows_of(ProducerSettings), **rows_of(ConsumerSettings)}
        for setting in re.findall(r'"(\w+)": (?:"|False|True)|\b(\w+_\w+)="', block):
            name = "".join(setting).replace("_", ".")
            assert name in known or name.endswith("serializer"), f"{name} in {page}"


@pytest.mark.parametrize("client", CLIENTS)
def test_every_method_has_its_row(client: str) -> None:
    text = (DOCS / "clients.md").read_text()
    for method in public(getattr(ottla, client)) + public(getattr(ottla, f"Async{client}")):
        assert f"| `{method}(" in text


def test_every_public_error_is_in_the_table() -> None:
    errors = (DOCS / "clients.md").read_text().partition("## Errors")[2]
    for name in ottla.__all__:
        kind = getattr(ottla, name)
        if isinstance(kind, type) and issubclass(kind, ottla.OttlaError):
            assert name in errors

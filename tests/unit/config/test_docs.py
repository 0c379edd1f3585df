"""The page of settings says what the table says."""

from ottla.config.group import GROUP_SETTINGS
from ottla.config.table import SYNONYMS, TABLE
from tools.render_docs import DOCS, main, settings_page


def test_the_page_of_settings_is_up_to_date():
    assert (DOCS / "settings.md").read_text("utf-8") == settings_page()
    assert main(["settings", "--check"]) == 0


def test_the_page_names_every_setting():
    page = settings_page()
    assert all(f"| `{name}` |" in page for name in (*TABLE, *SYNONYMS, *GROUP_SETTINGS))

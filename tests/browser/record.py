"""What a page shows, field by field: never joined, so that a `+N` folded into the summary changes the record."""

from playwright.sync_api import Locator, Page

STRIP = "[data-testid=plan-strip]"


def field(scope: Locator, name: str) -> str:
    return scope.locator(f"[data-field={name}]").text_content() or ""


def record(page: Page) -> str:
    """The newest plan row and the strip, a line a field."""
    row = page.locator("[data-plan]").last
    strip = page.locator(STRIP)
    lines = [
        f"row={row.get_attribute('data-tool')}",
        f"title={field(row, 'title')}",
        f"summary={field(row, 'summary')}",
        *(f"suffix={suffix.text_content()}" for suffix in row.locator("[data-field=suffix]").all()),
        f"panel={field(strip, 'header')}",
        *(f"item={item.get_attribute('data-status')} {field(item, 'content')}" for item in _items(strip)),
    ]
    return "".join(f"{line}\n" for line in lines)


def wait_live(page: Page, position: int = 0) -> None:
    """Until the page hears of its session and shows at least the event at `position`."""
    page.wait_for_function(
        "at => { const live = document.querySelector('[data-live]');"
        " return live.dataset.live === 'live' && Number(live.dataset.position) >= at }",
        arg=position,
    )


def _items(strip: Locator) -> list[Locator]:
    return strip.locator("[data-status]").all()

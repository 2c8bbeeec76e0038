"""Frames of what has the keyboard's focus: all of each can be seen, and none lies over what stands
beside it.
"""

import pytest

#: where the frame of the focused element is cut off, or lies over a neighbour in its row
HIDDEN = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  if (one === document.body) return null;
  const at = one.getBoundingClientRect();
  const reach = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
  const frame = {left: at.left - reach, top: at.top - reach, right: at.right + reach, bottom: at.bottom + reach};
  const found = [];
  if (style.outlineStyle === "none") found.push("no frame");
  const inside = (left, top, right, bottom, what) => {
    if (frame.left < left - 1 || frame.top < top - 1 || frame.right > right + 1 || frame.bottom > bottom + 1)
      found.push("cut off by " + what);
  };
  const fixed = one.closest(".top, .skip");
  const header = fixed ? 0 : document.querySelector(".top").getBoundingClientRect().bottom;
  if (at.height < innerHeight / 2) inside(0, header, innerWidth, innerHeight, "the window");
  for (let outer = one.parentElement; outer; outer = outer.parentElement) {
    if (!/hidden|auto|scroll|clip/.test(getComputedStyle(outer).overflow)) continue;
    const box = outer.getBoundingClientRect(), left = box.left + outer.clientLeft, top = box.top + outer.clientTop;
    if (outer !== document.documentElement && outer !== document.body)
      inside(left, top, left + outer.clientWidth, top + outer.clientHeight, outer.className || outer.tagName);
  }
  if (one.closest(".head, .bar-top"))
    for (const beside of one.parentElement.children) {
      const box = beside.getBoundingClientRect();
      if (beside === one || !box.width || beside.matches(".hidden")) continue;
      if (box.left < frame.right && box.right > frame.left && box.top < frame.bottom && box.bottom > frame.top)
        found.push("over " + beside.textContent.slice(0, 30));
    }
  return [one.tagName, one.getAttribute("class"), one.textContent.trim().slice(0, 30), found];
}"""
ROUTES = ("", "compile/0/0", "compile/0/0/graph", "compile/0/0/guards", "compile/0/0/files")


@pytest.mark.parametrize("width", [1280, 400])
def test_frames_are_seen_whole(screen, dumps, width):
    page = screen.page
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(reduced_motion="reduce")
    wrong, seen = [], 0
    screen.open(dumps / "toy" / "index.html", "search/sum")
    for route in ROUTES:
        screen.go(route)
        page.evaluate("document.querySelector('.skip').focus()")
        for _ in range(60):
            page.keyboard.press("Tab")
            found = page.evaluate(HIDDEN)
            if found is None:
                break
            seen += 1
            if found[3]:
                wrong.append((route, found))
    assert not wrong, wrong
    assert seen > 60
    # a view that the keyboard led to has the focus on its title
    screen.go("")
    page.locator(".flow a.box.function").first.press("Enter")
    page.locator("#view-title").wait_for()
    found = page.evaluate(HIDDEN)
    assert found[1] is None and not found[3], found
    screen.picture("focus_%d" % width)

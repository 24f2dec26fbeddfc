"""A chart is an SVG that any browser reads: every point in it, inside its frame."""

from xml.etree import ElementTree as ET

from tests.bench.plot import HEIGHT, WIDTH, Chart, svg

SVG = "{http://www.w3.org/2000/svg}"


def test_every_point_is_drawn_within_its_chart() -> None:
    points = [(1.0, 0.0), (16.0, 40.0), (256.0, 1_234.0)]
    drawn = ET.fromstring(svg([Chart("a < b", "writers", {"sqlite": [points, points]})]))
    dots = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in drawn.iter(f"{SVG}circle")]
    assert len(dots) == 6
    assert all(0 < x < WIDTH and 0 < y < HEIGHT for x, y in dots)
    assert dots[0][0] < dots[1][0] < dots[2][0]
    assert dots[0][1] > dots[1][1] > dots[2][1]
    assert "a < b" in [element.text for element in drawn.iter(f"{SVG}text")]

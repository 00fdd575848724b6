"""Small samples of event data in the publishers' formats, with invented events."""

_GDELT_COLUMNS = 61


def gdelt_row(
    number: int, day: str, one: tuple[str, str], other: tuple[str, str], code: str, quad: int
) -> str:
    """A row of GDELT 2.0; an actor is its name and the code of its country."""
    cells = [""] * _GDELT_COLUMNS
    cells[0:5] = [str(number), day, day[:6], day[:4], f"{day[:4]}.3370"]
    cells[5:8] = [one[1] + "GOV" if one[0] else "", *one]
    cells[12] = "GOV" if one[0] else ""
    cells[15:18] = [other[1], *other]
    cells[25:30] = ["1", code, code[:3], code[:2], str(quad)]
    cells[30:35] = ["2.8", "4", "1", "4", "-1.2345"]
    for place in (35, 43, 51):
        cells[place : place + 3] = ["4", "Paris, Ile-de-France, France", "FR"]
    cells[59:61] = [f"{day}141500", "https://example.org/news?id=1"]
    return "\t".join(cells)


def gdelt(count: int = 3) -> str:
    """Rows with two actors, and a final row without its second actor."""
    actors = [("UNITED STATES", "USA"), ("POLICE", "GBR"), ("BUSINESS", "")]
    rows = [
        gdelt_row(
            number,
            f"202105{number % 28 + 1:02d}",
            actors[number % 3],
            actors[(number + 1 + number % 2) % 3],
            ("042", "190", "0211")[number % 3 if number % 5 else 0],
            (1, 4, 1)[number % 3 if number % 5 else 0],
        )
        for number in range(count)
    ]
    return "\n".join([*rows, gdelt_row(count, "20210504", actors[0], ("", ""), "010", 1)]) + "\n"


def gdelt_version_1() -> str:
    """Version 1 has 58 columns, because it lacks the finer region codes."""
    rows = [row.split("\t") for row in gdelt().splitlines()]
    return "\n".join("\t".join(row[:40] + row[43:]) for row in rows) + "\n"


ICEWS = (
    "Event ID\tEvent Date\tSource Name\tSource Sectors\tSource Country\tEvent Text\tCAMEO Code\t"
    "Intensity\tTarget Name\tTarget Sectors\tTarget Country\tStory ID\tSentence Number\tPublisher\t"
    "City\tDistrict\tProvince\tCountry\tLatitude\tLongitude\n"
    "20718170\t2014-01-01\tPolice (Country A)\tPolice,Government\tCountry A\t"
    "Use unconventional violence\t180\t-9.0\tProtester (Country A)\tProtestors / Popular\t"
    "Country A\t31920406\t5\tNews\tCity\t\tRegion\tCountry A\t1.5\t2.5\n"
    "20718171\t2014-01-02\tJane Doe\tExecutive,Government\tCountry B\tMake a visit\t42\t1.9\t"
    "Country A\t\tCountry A\t31920407\t2\tNews\t\t\t\tCountry A\t1.5\t2.5\n"
    "20718172\t2014-01-02\t\t\t\tMake statement\t10\t0.0\tCountry A\t\tCountry A\t31920408\t2\t"
    "News\t\t\t\tCountry A\t1.5\t2.5\n"
)

ACLED = (
    "event_id_cnty,event_date,year,time_precision,disorder_type,event_type,sub_event_type,actor1,"
    "assoc_actor_1,inter1,actor2,assoc_actor_2,inter2,interaction,iso,region,country,notes\n"
    'AAA1,03 May 2021,2021,1,Political violence,Battles,Armed clash,Military Forces of A,"",'
    'State Forces,Rebels of A,"",Rebel group,State Forces-Rebel group,4,Region,Country A,'
    '"On 3 May, forces clashed with ""rebels"" near the town."\n'
    "AAA2,04 May 2021,2021,1,Demonstrations,Protests,Peaceful protest,Protesters (A),Students,"
    'Protesters,,,,Protesters only,4,Region,Country A,"A march, peaceful."\n'
    'AAA3,05 May 2021,2021,1,Political violence,Violence against civilians,Attack,Rebels of A,"",'
    'Rebel group,Civilians (A),"",Civilians,Rebel group-Civilians,4,Region,Country A,'
    '"An attack.\n\nSource, ""News""."\n'
)

"""The entities of the synthetic world: countries in leagues, their organs, people and leaders."""

from dataclasses import dataclass

import numpy as np

from apptek.arrays import Doubles, Ints, Longs
from apptek.synthetic.rules import (
    FORCES,
    LEADER,
    LEADER_COUNT,
    SECTORS,
    SLOT_COUNT,
    Scope,
)

DAY_COUNT = 1096  # 2019-01-01 .. 2021-12-31
FIRST_DAY = 17897  # code of 2019-01-01
ALLY_COUNT = 2
_LEAGUE_SIZE = 6
_DECAY = 0.8  # the k-th most active country has activity k ** -0.8

_HEADS = (
    *("Ald", "Ambel", "Arv", "Bel", "Bor", "Bryn", "Cald", "Cor", "Dorn", "Drav", "Dun", "Eld"),
    *("Esk", "Fal", "Fen", "Fer", "Gal", "Gorm", "Grev", "Hald", "Hest", "Hov", "Ild", "Jarn"),
    *("Jor", "Kald", "Kest", "Kor", "Lind", "Lor", "Lym", "Mar", "Mer", "Morv", "Nald", "Nor"),
    *("Osk", "Peld", "Quor", "Rav", "Ros", "Sarn", "Sel", "Sund", "Tarn", "Thal", "Torv", "Ulm"),
    *("Vald", "Ver", "Vin", "Wend", "Yld", "Zar"),
)
_MIDDLES = (
    *("", "al", "an", "ar", "as", "el", "en", "er"),
    *("il", "in", "is", "ol", "on", "or", "un", "ur"),
)
_TAILS = (
    *("land", "mark", "ia", "ova", "aria", "esia", "onia", "stan", "heim"),
    *("gard", "mere", "stead", "dor", "vania", "ora", "una", "wick", "holm"),
)
_GIVEN = (
    *("Ada", "Aino", "Amara", "Anton", "Arturo", "Astrid", "Boris", "Carla", "Cedric", "Chidi"),
    *("Clara", "Dario", "Dina", "Edda", "Emil", "Esther", "Farid", "Felix", "Greta", "Hana"),
    *("Hugo", "Ines", "Ivo", "Jana", "Jonas", "Kaito", "Kira", "Lars", "Leila", "Lena", "Luca"),
    *("Mara", "Marek", "Mina", "Nadia", "Nils", "Noor", "Olga", "Omar", "Otto", "Paula", "Petra"),
    *("Quentin", "Rafael", "Rosa", "Ruben", "Sami", "Selma", "Stefan", "Tara", "Thea", "Tomas"),
    *("Ulla", "Vera", "Viktor", "Wanda", "Yara", "Yusuf", "Zelda", "Zoran"),
)
_FAMILY = (
    *("Abara", "Aldana", "Bergstrom", "Bianchi", "Brandt", "Castellan", "Cerny", "Dahl", "Dragan"),
    *("Ekwueme", "Eriksen", "Falk", "Ferreira", "Fontaine", "Gallo", "Gruber", "Haddad", "Horvat"),
    *("Halvorsen", "Ibarra", "Ivanek", "Jansky", "Jokinen", "Keller", "Kovar", "Laurent"),
    *("Lindqvist", "Lombard", "Madsen", "Marchetti", "Moreau", "Nakata", "Novak", "Nyberg"),
    *("Okafor", "Olsen", "Ortega", "Palmer", "Quist", "Ramires", "Rinaldi", "Rossi", "Sandoval"),
    *("Sato", "Schreiber", "Soler", "Szabo", "Tanaka", "Thorne", "Toivonen", "Ulrich", "Urbano"),
    *("Valdez", "Vasile", "Vogel", "Weiss", "Wolff", "Yilmaz", "Zeman", "Zimmer"),
)


@dataclass(frozen=True, slots=True)
class People:
    """C countries of SLOT_COUNT entities each, in L leagues.

    Entity = country * SLOT_COUNT + slot, and the slot says what the entity is in its country. The
    leagues themselves come after all countries.
    """

    names: tuple[str, ...]
    bounds: Longs  # (L + 1,) a league is the countries bounds[i] .. bounds[i + 1] - 1
    activity: Doubles  # (C + 1,) cumulative; countries are drawn in proportion to it
    changes: Ints  # (C, 2) days on which the office of the head of government passes on
    allies: Longs  # (C, FORCES, ALLY_COUNT) entities of the same league that stand by a force

    @property
    def country_count(self) -> int:
        """C."""
        return len(self.changes)

    def weights(self, *, even: bool) -> Doubles:
        """Cumulative weights of the countries, as `draw` takes them."""
        return np.arange(self.country_count + 1, dtype=np.float64) if even else self.activity

    def partners(
        self, countries: Longs, scope: Scope, weights: Doubles, *, rng: np.random.Generator
    ) -> Longs:
        """Draws for each country another one in the scope; itself where that is the country."""
        if scope == "country":
            return countries
        league = np.searchsorted(self.bounds, countries, side="right") - 1
        first, stop = self.bounds[league], self.bounds[league + 1]
        if scope == "abroad":
            return _abroad(weights, first, stop, rng=rng)
        others = first if scope == "host" else _within(weights, first, stop, rng=rng)
        # A country that drew itself takes the next one of its league.
        following = np.where(countries + 1 < stop, countries + 1, first)
        return np.where(others == countries, following, others)

    def members(self, countries: Longs, slots: Longs, days: Longs) -> Longs:
        """The entities in these slots of the countries; a leader is the one in office that day."""
        passed = (days[:, None] >= self.changes[countries]).sum(axis=1)
        return countries * SLOT_COUNT + slots + np.where(slots == LEADER, passed, 0)


def draw(weights: Doubles, count: int, *, rng: np.random.Generator) -> Longs:
    """Draws `count` indices, each in proportion to its weight; `weights` are cumulative, from 0."""
    return _index_at(weights, rng.random(count) * weights[-1])


def _index_at(weights: Doubles, points: Doubles) -> Longs:
    indices = np.searchsorted(weights, points, side="right") - 1
    return np.minimum(indices, len(weights) - 2)  # rounding may take a point to the end


def _within(weights: Doubles, first: Longs, stop: Longs, *, rng: np.random.Generator) -> Longs:
    """Draws for each range first..stop - 1 one index in it, in proportion to its weight."""
    lo, hi = weights[first], weights[stop]
    return np.clip(_index_at(weights, lo + rng.random(len(first)) * (hi - lo)), first, stop - 1)


def _abroad(weights: Doubles, first: Longs, stop: Longs, *, rng: np.random.Generator) -> Longs:
    """Draws for each range first..stop - 1 one index outside of it, by skipping its weight."""
    lo, hi = weights[first], weights[stop]
    points = rng.random(len(first)) * (weights[-1] - (hi - lo))
    return _index_at(weights, np.where(points < lo, points, points + (hi - lo)))


def make_people(country_count: int, *, rng: np.random.Generator) -> People:
    """Makes that many countries in leagues of about six; at least two leagues of two."""
    league_count = max(2, country_count // _LEAGUE_SIZE)
    bounds = np.linspace(0, country_count, league_count + 1).astype(np.int64)
    activity = rng.permutation((1.0 + np.arange(country_count)) ** -_DECAY)
    half = DAY_COUNT // 2
    changes = [rng.integers(lo, lo + half - 1, country_count) for lo in (1, half + 1)]
    people = People(
        names=_entity_names(country_count, league_count, rng=rng),
        bounds=bounds,
        activity=np.concatenate([[0.0], np.cumsum(activity)]),
        changes=np.stack(changes, axis=1).astype(np.int32),
        allies=np.empty((country_count, len(FORCES), ALLY_COUNT), np.int64),
    )
    people.allies[:] = _allies(people, rng=rng)
    return people


def _allies(people: People, *, rng: np.random.Generator) -> Longs:
    shape = people.allies.shape
    countries = np.broadcast_to(np.arange(shape[0])[:, None, None], shape).ravel()
    others = people.partners(countries, "league", people.weights(even=True), rng=rng)
    slots = np.asarray(FORCES)[rng.integers(len(FORCES), size=len(others))]
    allies: Longs = (others * SLOT_COUNT + slots).reshape(shape)
    return allies


def _entity_names(
    country_count: int, league_count: int, *, rng: np.random.Generator
) -> tuple[str, ...]:
    places = _place_names(country_count + league_count, rng=rng)
    countries, leagues = places[:country_count], places[country_count:]
    leaders = _person_names(country_count * LEADER_COUNT, rng=rng)
    names: list[str] = []
    for index, country in enumerate(countries):
        names.append(country)
        names += [f"{sector} ({country})" for sector in SECTORS]
        names += leaders[index * LEADER_COUNT : (index + 1) * LEADER_COUNT]
    return (*names, *(f"{league} League" for league in leagues))


def _place_names(count: int, *, rng: np.random.Generator) -> list[str]:
    """Distinct names of places, short ones first; there are about fifteen thousand."""
    names: dict[str, None] = {}
    for middle in _MIDDLES:
        if len(names) >= count:
            break
        block = [head + middle + tail for head in _HEADS for tail in _TAILS]
        names.update(dict.fromkeys(rng.permutation(block).tolist()))
    return list(names)[:count]


def _person_names(count: int, *, rng: np.random.Generator) -> list[str]:
    """Distinct names of people, with an initial once the few thousand without one are used."""
    names: list[str] = []
    for initial in ("", *(f"{letter}. " for letter in "ABCDEFGHIJKLMNOPRSTUVWYZ")):
        if len(names) >= count:
            break
        block = [f"{given} {initial}{family}" for given in _GIVEN for family in _FAMILY]
        names += rng.permutation(block).tolist()
    return names[:count]

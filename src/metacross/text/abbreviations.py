"""Abbreviations, sentence openers and ordinals by language, for splitting text into sentences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class PeriodRules:
    """What a period after a word means in a language.

    An entry in lower case also matches the capitalized word; other entries match exactly.

    Args:
        titles: A sentence never ends after them: ``Dr``.
        before_numbers: A sentence does not end between them and a number: ``No``.
        abbreviations: A sentence ends after them only if one of ``openers`` follows: ``Inc``.
        openers: Words that often begin a sentence and are not part of a name: ``The``.
        months: Names of months, in lower case: ``3. Mai``.
        ordinals: Whether a number with a period can be an ordinal before a capital letter.
    """

    titles: frozenset[str]
    before_numbers: frozenset[str]
    abbreviations: frozenset[str]
    openers: frozenset[str]
    months: frozenset[str] = frozenset()
    ordinals: bool = False


@cache
def period_rules(language: str | None) -> PeriodRules:
    """The rules of a language code such as ``"de"`` or ``"de-AT"``; general ones if it is unknown.

    >>> "Frl" in period_rules("de").titles, "Frl" in period_rules("en").titles
    (True, False)
    """
    code = (language or "").replace("_", "-").split("-")[0].lower()
    own_rules = _RULES.get(code)
    if own_rules is not None:
        return own_rules
    return PeriodRules(
        titles=frozenset(w for rules in _RULES.values() for w in rules.titles if w[0].isupper()),
        before_numbers=frozenset().union(*(rules.before_numbers for rules in _RULES.values())),
        abbreviations=frozenset(_GENERAL.split()),
        openers=frozenset().union(*(rules.openers for rules in _RULES.values())),
        months=frozenset().union(*(rules.months for rules in _RULES.values())),
        ordinals=code in _ORDINAL_LANGUAGES,
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Danish, Norwegian, Finnish, ...: "den 3. maj", "19. Jahrhundert".
_ORDINAL_LANGUAGES = _words("da nb nn no is fo fi et lv lt cs sk sl hr sr bs pl hu tr eu lb")

_GENERAL = (
    "Inc Ltd Corp Co Bros Cie Jr Sr vs cf ca resp approx aprox incl inkl excl max min tel Tel ed "
    "eds vol Vol Ave Blvd Bd Rd Mt Ft St Ste Sta Sto al et bzw bijv Hg"
)

_RULES = {
    "en": PeriodRules(
        titles=_words(
            "Mr Mrs Ms Mx Messrs Mmes Dr Drs Prof Profs Rev Revd Hon Fr Sr Sra St Ste Gen Lt Col "
            "Maj Capt Cpt Cmdr Comdr Cpl Sgt Pvt Adm Brig Ens Gov Sen Sens Rep Reps Pres Supt Insp "
            "Atty Det Amb Sec Mgr Msgr Mlle Mme Dir Mt Ft Esq vs e.g i.e cf viz"
        ),
        before_numbers=_words(
            "no nos No Nos p pp P vol vols fig figs ch chap sec sect art para par pt ed eq eqn "
            "tab app op cl nr ver v c ca approx est b d r fl Jan Feb Mar Apr Jun Jul Aug Sep Sept "
            "Oct Nov Dec"
        ),
        abbreviations=_words(
            "Inc Ltd Corp Co Cos Bros LLC Plc Jr Dept dept Univ Assn Ave Blvd Rd Pl Ct Hwy Sq al "
            "approx resp incl est ext tel Bldg Intl Natl Govt Calif Conn Mass Penn Ariz Ark Colo "
            "Fla Ill Ind Kan Ky Md Mich Minn Miss Mo Mont Neb Nev Okla Ore Tenn Tex Va Vt Wash Wis "
            "Wyo Ph.D M.D Op Feb Jan Aug Sept Oct Nov Dec U.S U.K U.N E.U a.k.a"
        ),
        openers=_words(
            "The A An This That These Those He She It We They You His Her Its Our Their My Your "
            "There Here In On At By For From With Without To Of As If When While After Before "
            "Since Although Though Because But And Or So Then However What Why How Where Who Which "
            "Some Many Most All Both Each Every No Not One Two During Until Such I"
        ),
        months=_words(
            "january february march april may june july august september october november december"
        ),
    ),
    "es": PeriodRules(
        titles=_words(
            "Sr Sra Srta Sres Sras Dr Dra Drs Dres Prof Profa D Dª Dña Dn Lic Ing Arq Mons Mtro "
            "Gral Cnel Cap Tte Sgto Cmdte Fr Pbro Rvdo Excmo Excma Ilmo Ilma Sto Sta S Ud Uds Vd "
            "Vds Mr Mrs Ms St Mt p.ej ej"
        ),
        before_numbers=_words(
            "núm núms nº n.º n.o No pág págs p pp art arts cap caps vol vols fig figs t tel tfno "
            "ed párr apdo km aprox c ca hacia mín máx"
        ),
        abbreviations=_words(
            "Inc Ltd Corp Co Cía Hnos Jr Avda Av Pza Pl Ctra Depto Dpto Gob Univ aprox máx mín "
            "ptas pta admón fdo izda dcha resp vs cf EE UU EE.UU S.A FF.AA RR.HH CC.OO JJ.OO"
        ),
        openers=_words(
            "El La Los Las Un Una Unos Unas Lo Este Esta Esto Estos Estas Ese Esa Eso Él Ella "
            "Ellos Ellas Yo Tú Nosotros Usted Su Sus Mi Mis Tu Se Me Te Le Les Nos En Por Para Con "
            "Sin Desde Hasta Según Sobre Entre Tras Ante A Al De Del Y O Pero Sin Aunque Cuando "
            "Como Si No Ya También Además Así Entonces Después Hay Es Era Fue Son Ha Han Qué Quién "
            "Cómo Dónde Que"
        ),
        months=_words(
            "enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre "
            "noviembre diciembre"
        ),
    ),
    "nl": PeriodRules(
        titles=_words(
            "v d z dhr mevr mw mr mrs dr drs ir ing prof ds Jhr Mgr Ms St kol lt gen kapt maj sgt "
            "burg e.d.g z.g zg zgn bijv bv o.a d.w.z m.n t.a.v m.b.t i.v.m t.o.v "
            "i.p.v t.w.v n.a.v a.h.w"
        ),
        before_numbers=_words(
            "nr nrs blz pag p pp art artt vol dl hfdst fig afb par tel ca circa omstr ong jg afl "
            "lid v r jan feb mrt apr jun jul aug sep sept okt nov dec anno"
        ),
        abbreviations=_words(
            "Inc Ltd Corp Co Gebr Jr Sr incl excl resp max min evt vgl ev ex o.l.v B.V N.V "
            "ca vs cf Chr Ned"
        ),
        openers=_words(
            "De Het Een Dit Dat Deze Die Hij Zij Ze Wij We Ik Jij Je U Jullie Er Hier Daar In Op "
            "Aan Bij Met Zonder Voor Van Naar Uit Tot Om Over Door Na Sinds Tijdens Als Toen "
            "Wanneer Omdat Hoewel Maar En Of Dus Want Ook Nog Nu Zo Wat Wie Waar Waarom Hoe Welke "
            "Niet Geen Alle Veel Zijn Haar Hun Mijn Onze Ons Volgens"
        ),
        months=_words(
            "januari februari maart april mei juni juli augustus september oktober november "
            "december"
        ),
    ),
    "de": PeriodRules(
        titles=_words(
            "a b d e f i m n o s u v z Hr Hrn Fr Frl Dr Dres Prof Ing Dipl Mag Med med phil jur "
            "rer nat habil Univ Hl hl St Gebr Frhr Gf Kgl kgl Gen Lt Hptm Obst Mr Mrs Ms z.B u.a "
            "d.h i.d.R z.T v.a o.ä bzw vgl bspw sog ggf evtl insb insbes inkl einschl exkl ehem "
            "geb gest verh lat griech engl frz dt"
        ),
        before_numbers=_words(
            "Nr Nrn S Bd Bde Abs Art Abb Tab Kap Aufl Jg Jh Jhd Jhdt H Rn Rz Ziff lfd Str ca "
            "max min mind Tel vol p pp f ff Jan Feb Mrz Apr Jun Jul Aug Sep Sept Okt Nov Dez "
            "Vers Kl Anm Anl §"
        ),
        abbreviations=_words(
            "Inc Ltd Corp Co Cie Jr Sr Str Nr Bd Abb Abt Abs Art Aufl Hrsg Hg Bez Kt Kr Reg Rgbz "
            "Jh Jhd Jhdt Mio Mrd Tsd Std Min Sek Tel Ztr Verf Übers Bearb Verl Red Vors stellv "
            "allg urspr gegr ca max min mind resp usf i.Br a.M a.d b.a u.s.w Wwe v.Chr n.Chr Chr"
        ),
        openers=_words(
            "Der Die Das Den Dem Ein Eine Einen Einem Einer Dieser Diese Dieses Diesen Er Sie Es "
            "Wir Ich Du Ihr Man Hier Da Dort In Im Am An Auf Bei Beim Mit Ohne Für Von Vom Nach "
            "Aus Bis Um Über Durch Seit Während Als Wenn Weil Obwohl Aber Und Oder So Dann Doch "
            "Auch Noch Nun Jetzt Was Wer Wo Warum Wie Welche Nicht Kein Keine Alle Viele Sein "
            "Seine Ihre Mein Meine Unser Zu Zum Zur Unter Vor Zwischen Dabei Damit Danach Daher "
            "Dadurch Darauf Jedoch Allerdings Sowohl Trotz Laut Nachdem Anschließend Später"
        ),
        months=_words(
            "januar jänner februar feber märz april mai juni juli august september oktober "
            "november dezember"
        ),
        ordinals=True,
    ),
    "fr": PeriodRules(
        titles=_words(
            "M MM Mme Mmes Mlle Mlles Mgr Dr Drs Pr Prs Prof Me St Ste Sts Stes Vve Cel Cap "
            "Cdt Gal Gén Col Lt Sgt Adj R.P Mr Mrs Ms c.-à-d cad p.ex ex"
        ),
        before_numbers=_words(
            "no nos n° p pp pag art chap vol fig t éd sect al v env ca av apr ap janv févr "
            "avr juil sept oct nov déc tél réf"
        ),
        abbreviations=_words(
            "Inc Ltd Corp Co Cie Sté Jr Bd Av Bld Blvd Dir Éts Ets env max min éd dép hab resp cf "
            "vs av J.-C J.C"
        ),
        openers=_words(
            "Le La Les L Un Une Des Du De Ce Cet Cette Ces Il Elle Ils Elles On Nous Vous Je J Tu "
            "C Ça Cela Son Sa Ses Leur Leurs Notre Votre Mon Ma Mes En Dans Sur Sous Avec Sans Par "
            "Pour Depuis Pendant Après Avant Selon Entre Chez Vers Au Aux À A Et Ou Mais Donc Car "
            "Or Ni Si Quand Lorsque Comme Puis Alors Ainsi Aussi Enfin Ensuite Cependant Toutefois "
            "Qui Que Quoi Où Pourquoi Comment Quel Quelle Tout Tous Toute Ne Y D Lors Malgré"
        ),
        months=_words(
            "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
        ),
    ),
}

"""The systems to compare with, by name: what each needs, is made of and whom to cite."""

from __future__ import annotations

from metacross.baselines.baseline import LEXICON, TARGET_TRAIN, TRANSLATION, Baseline
from metacross.errors import SettingsError, did_you_mean

_VECTORS = ("vectors", "source_vectors", "raw_text")
_BASELINES = (
    Baseline(
        name="crf",
        cites="-",
        needs=(),
        uses=("target_train",),
        reads=("crf",),
        made_of="linear CRF on the source: shapes and affixes, no words",
        is_random=False,
    ),
    Baseline(
        name="tackstrom",
        cites="Täckström et al. 2012",
        needs=("clusters or raw_text",),
        uses=("target_train",),
        reads=("crf",),
        made_of="after Täckström 2012: CRF with cross-lingual clusters, given or k-means of the "
        "encoder's word vectors",
        published=(("es", 59.30), ("nl", 58.40), ("de", 40.40)),
    ),
    Baseline(
        name="tsai",
        cites="Tsai et al. 2016",
        needs=("gazetteer",),
        uses=("target_train",),
        reads=("crf",),
        made_of="after Tsai 2016: CRF with gazetteer types instead of a wikifier",
        published=(("es", 60.55), ("nl", 61.56), ("de", 48.12)),
        is_random=False,
    ),
    Baseline(
        name="ni-projection",
        cites="Ni et al. 2017",
        needs=("parallel",),
        uses=("alignments", "lexicon", "target_train"),
        reads=("projection", "crf"),
        made_of="after Ni 2017: labels projected through parallel text, quality filter, CRF",
        is_random=False,
    ),
    Baseline(
        name="ni",
        cites="Ni et al. 2017",
        needs=("parallel",),
        uses=("alignments", "lexicon", "vectors", "source_vectors", "target_train"),
        reads=("projection", "crf", "bilstm_crf"),
        made_of="after Ni 2017: projection, co-decoded with a tagger on shared representations "
        "(vectors mapped by a lexicon if given, else the encoder: no map was learned)",
        published=(("es", 65.10), ("nl", 65.40), ("de", 58.50)),
    ),
    Baseline(
        name="mayhew",
        cites="Mayhew et al. 2017",
        needs=("lexicon",),
        uses=("raw_text", "parallel", "alignments", "target_train"),
        reads=(*TRANSLATION, "crf"),
        made_of="after Mayhew 2017: lexicon translation, CRF",
        published=(("es", 65.95), ("nl", 66.50), ("de", 59.11)),
        is_random=False,
    ),
    Baseline(
        name="xie",
        cites="Xie et al. 2018",
        needs=(LEXICON,),
        uses=("raw_text", "parallel", "alignments", "source_vectors", "target_train"),
        reads=(*TRANSLATION, "bilstm_crf"),
        made_of="after Xie 2018: lexicon translation, self-attentive BiLSTM-CRF on word vectors "
        "(given, else of the encoder)",
        published=(("es", 72.37), ("nl", 71.25), ("de", 57.76)),
    ),
    Baseline(
        name="direct",
        cites="Wu and Dredze 2019",
        needs=(),
        uses=(),
        reads=(),
        made_of="the encoder, trained on the source",
        published=(("es", 74.96), ("nl", 77.57), ("de", 69.56)),
    ),
    Baseline(
        name="ours",
        cites="Wu et al. 2020, AAAI",
        needs=(),
        uses=(),
        reads=(),
        made_of="the encoder, meta-trained on the source; adapts unless it was fine-tuned",
        published=(("es", 76.75), ("nl", 80.44), ("de", 73.16)),
    ),
    Baseline(
        name="data-transfer",
        cites="Wu et al. 2020, IJCAI",
        needs=(LEXICON,),
        uses=("raw_text", "parallel", "alignments", "source_vectors"),
        reads=TRANSLATION,
        made_of="data transfer: the encoder, trained on lexicon-translated text",
    ),
    Baseline(
        name="direct-translated",
        cites="-",
        needs=(LEXICON,),
        uses=("raw_text", "parallel", "alignments", "source_vectors"),
        reads=TRANSLATION,
        made_of="the encoder, trained on the source and on lexicon-translated text",
    ),
    Baseline(
        name="ours-translated",
        cites="Wu et al. 2020, AAAI; Mayhew et al. 2017",
        needs=(LEXICON,),
        uses=("raw_text", "parallel", "alignments", "source_vectors"),
        reads=TRANSLATION,
        made_of="the encoder, meta-trained on source and lexicon-translated text in one datastore; "
        "adapts unless it was fine-tuned",
    ),
    Baseline(
        name="tsl",
        cites="Wu et al. 2020, ACL",
        needs=("raw_text",),
        uses=(),
        reads=("distillation",),
        made_of="TSL: a student of the direct model's probabilities on raw target text",
        published=(("es", 76.94), ("nl", 80.89), ("de", 73.22)),
    ),
    Baseline(
        name="tsl-multi",
        cites="Wu et al. 2020, ACL",
        needs=("raw_text",),
        uses=(),
        reads=("distillation",),
        made_of="TSL with a teacher for each of several source languages, weighted by how similar "
        "their sentence vectors are to the target's",
        published=(("es", 78.00), ("nl", 81.33), ("de", 75.33)),
    ),
    Baseline(
        name="ours-tsl",
        cites="Wu et al. 2020, ACL and AAAI",
        needs=("raw_text",),
        uses=(),
        reads=("distillation",),
        made_of="TSL with our adapting model as teacher",
    ),
    Baseline(
        name="ours-translated-tsl",
        cites="Wu et al. 2020, ACL and AAAI; Mayhew et al. 2017",
        needs=(LEXICON, "raw_text"),
        uses=("parallel", "alignments", "source_vectors"),
        reads=(*TRANSLATION, "distillation"),
        made_of="TSL with ours-translated as teacher",
    ),
    Baseline(
        name="direct-crf",
        cites="Wu and Dredze 2019; Mayhew et al. 2017",
        needs=(LEXICON,),
        uses=("raw_text", "parallel", "alignments", "source_vectors", "target_train"),
        reads=(*TRANSLATION, "crf"),
        made_of="the direct model and a CRF on lexicon-translated text: the mean of their "
        "probabilities",
    ),
    Baseline(
        name="ours-crf",
        cites="Wu et al. 2020, AAAI; Mayhew et al. 2017",
        needs=(LEXICON,),
        uses=("raw_text", "parallel", "alignments", "source_vectors", "target_train"),
        reads=(*TRANSLATION, "crf"),
        made_of="ours and a CRF on lexicon-translated text: the mean of their probabilities",
    ),
    Baseline(
        name="ours-crf-tsl",
        cites="Wu et al. 2020, ACL and AAAI; Mayhew et al. 2017",
        needs=(LEXICON, "raw_text"),
        uses=("parallel", "alignments", "source_vectors"),
        reads=(*TRANSLATION, "crf", "distillation"),
        made_of="TSL with ours-crf as teacher",
    ),
    Baseline(
        name="direct-crf-student",
        cites="Wu and Dredze 2019; Wu et al. 2020, ACL; Mayhew et al. 2017",
        needs=(LEXICON, "raw_text"),
        uses=("parallel", "alignments", "source_vectors", "target_train"),
        reads=(*TRANSLATION, "crf", "distillation"),
        made_of="the direct model, a CRF on lexicon-translated text and a student of these two on "
        "raw text: the mean of their probabilities",
    ),
    Baseline(
        name="ours-crf-student",
        cites="Wu et al. 2020, ACL and AAAI; Mayhew et al. 2017",
        needs=(LEXICON, "raw_text"),
        uses=("parallel", "alignments", "source_vectors", "target_train"),
        reads=(*TRANSLATION, "crf", "distillation"),
        made_of="ours, a CRF on lexicon-translated text and a student of these two on raw text: "
        "the mean of their probabilities",
    ),
    Baseline(
        name="unitrans",
        cites="Wu et al. 2020, IJCAI",
        needs=(LEXICON, "raw_text"),
        uses=("parallel", "alignments", "source_vectors"),
        reads=(*TRANSLATION, "distillation"),
        made_of="after UniTrans, lexicon translation: a student of three encoders, soft labels of "
        "one, hard labels where all agree",
        published=(("es", 79.31), ("nl", 82.90), ("de", 74.82)),
    ),
    Baseline(
        name="advpicker",
        cites="Chen et al. 2021",
        needs=("raw_text",),
        uses=(),
        reads=("distillation", "adversary"),
        made_of="after AdvPicker, one seed: an encoder trained against a discriminator of the "
        "languages teaches on the raw sentences that it cannot tell",
        published=(("es", 79.00), ("nl", 82.90), ("de", 75.01)),
    ),
    Baseline(
        name="colada",
        cites="Ma et al. 2023",
        needs=(LEXICON, "raw_text"),
        uses=("parallel", "alignments", "source_vectors"),
        reads=(*TRANSLATION, "distillation", "consistency"),
        made_of="after CoLaDa, two rounds, lexicon translation: models on translated and raw text "
        "label for each other, words weighted by the labels of similar words",
    ),
    Baseline(
        name="knn",
        cites="Wang et al. 2022",
        needs=(),
        uses=("target_train",),
        reads=("knn",),
        made_of="kNN-NER: the direct model's probabilities, mixed with votes of the most similar "
        "source words",
    ),
    Baseline(
        name="yang",
        cites="Yang et al. 2017",
        needs=(TARGET_TRAIN,),
        uses=_VECTORS,
        reads=("bilstm_crf", "two_languages"),
        made_of="after Yang 2017, shared characters: a BiLSTM-CRF for each language (BiLSTM for "
        "GRU) on fixed word vectors (given, else of the encoder), one optimizer, last weights",
    ),
    Baseline(
        name="lin-ml",
        cites="Lin et al. 2018",
        needs=(TARGET_TRAIN,),
        uses=_VECTORS,
        reads=("bilstm_crf", "two_languages"),
        made_of="after Lin 2018, two languages: shared character CNN, BiLSTM and CRF, gated "
        "outputs, on fixed word vectors (given, else of the encoder), one optimizer, last weights",
    ),
    Baseline(
        name="lin-mlmt",
        cites="Lin et al. 2018",
        needs=(TARGET_TRAIN, "pos", "source_pos"),
        uses=_VECTORS,
        reads=("bilstm_crf", "two_languages"),
        made_of="after Lin 2018, two languages and two tasks: lin-ml with parts of speech too",
    ),
)
BASELINES: dict[str, Baseline] = {baseline.name: baseline for baseline in _BASELINES}
"""All systems by name."""


def find_baseline(name: str) -> Baseline:
    """A system by its name."""
    if name not in BASELINES:
        raise SettingsError(
            f"expected a baseline of {', '.join(BASELINES)}, found {name!r}"
            f"{did_you_mean(name, BASELINES)}"
        )
    return BASELINES[name]

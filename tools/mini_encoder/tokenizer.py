"""Builds the student's tokenizer."""

from __future__ import annotations

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from tools.mini_encoder.vocabulary import MARKER, SPECIALS, Vocabulary

_WITHOUT_SPACES = r"[\p{Han}\p{Hiragana}\p{Katakana}\u3001-\u3003\u3008-\u3011ー]"
_PUNCTUATION = r"[,.;:!?%\)\]\}»”’…\"«„“‘]"
_NO_MARKER = rf"^{MARKER}(?={_WITHOUT_SPACES}|{_PUNCTUATION}|'s?$)"


def student_tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """A cased Unigram tokenizer that adds ``[CLS]`` and ``[SEP]``.

    Words passed one by one get the same pieces as in running text: the marker is removed where
    running text has no space, that is before Han, Kana, most punctuation and a separate ``'s``.
    """
    pieces = vocabulary.pieces
    scored_pieces = [(special, 0.0) for special in SPECIALS]
    scored_pieces += [
        (pieces.texts[piece_id], pieces.scores[piece_id]) for piece_id in vocabulary.kept_ids
    ]
    tokenizer = Tokenizer(models.Unigram(scored_pieces, unk_id=SPECIALS.index("[UNK]")))
    steps = [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    if pieces.character_map:
        steps.insert(0, normalizers.Precompiled(pieces.character_map))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(MARKER, prepend_scheme="always", split=True),
            pre_tokenizers.Split(Regex(_NO_MARKER), behavior="removed"),
        ]
    )
    tokenizer.decoder = decoders.Metaspace(MARKER, prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, SPECIALS.index(name)) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer

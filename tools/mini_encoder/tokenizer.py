"""Builds the student's tokenizer."""

from __future__ import annotations

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from tools.mini_encoder.vocabulary import MARKER, SPECIALS, Vocabulary

_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\u3001-\u3003\u3008-\u3011ー]"
_SIGNS = r"[,.;:!?%\)\]\}»”’…\"«„“‘]"
_DETACHED = rf"^{MARKER}(?={_UNSPACED}|{_SIGNS}|'s?$)"


def tokenizer_for(vocabulary: Vocabulary) -> Tokenizer:
    """A cased Unigram tokenizer that puts ``[CLS]`` and ``[SEP]`` around the pieces.

    A marker that no running text would have is dropped: before Han and Kana, most signs, and a
    lone ``'s``. Words given one by one so get the pieces of running text.
    """
    pieces = vocabulary.pieces
    scored = [(special, 0.0) for special in SPECIALS]
    scored += [(pieces.texts[number], pieces.scores[number]) for number in vocabulary.kept]
    tokenizer = Tokenizer(models.Unigram(scored, unk_id=SPECIALS.index("[UNK]")))
    normalizing = [normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]
    if pieces.character_map:
        normalizing.insert(0, normalizers.Precompiled(pieces.character_map))
    tokenizer.normalizer = normalizers.Sequence(normalizing)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Metaspace(MARKER, prepend_scheme="always", split=True),
            pre_tokenizers.Split(Regex(_DETACHED), behavior="removed"),
        ]
    )
    tokenizer.decoder = decoders.Metaspace(MARKER, prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, SPECIALS.index(name)) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer

"""Tiny encoders and corpora, made in code."""

import random
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from metacross.model.encoder import load_tokenizer, new_tagger_network
from metacross.model.tagger import Tagger
from metacross.settings import load_settings
from metacross.text.sentence import Corpus, Sentence, Span
from metacross.text.tags import TagSet

NAMES = ["ana", "bob", "eva", "tom", "ivo", "lea"]
PLACES = ["rome", "oslo", "lima", "york", "bern", "kiev"]
OTHERS = ["went", "to", "saw", "in", "and", "the", "old", "new", "rain", "."]
LETTERS = "abcdefghijklmnopqrstuvwxyz.,"


def wordpiece_tokenizer() -> transformers.PreTrainedTokenizerFast:
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*specials, *NAMES, *PLACES, *OTHERS[:-1], *LETTERS, *(f"##{c}" for c in LETTERS)]
    tokenizer = Tokenizer(
        models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def unigram_tokenizer() -> transformers.PreTrainedTokenizerFast:
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    words = [f"▁{word}" for word in [*NAMES, *PLACES, *OTHERS]]
    pieces = [(piece, 0.0) for piece in specials]
    pieces += [(word, -2.0) for word in words]
    pieces += [("▁", -3.0), *((letter, -4.0) for letter in LETTERS if f"▁{letter}" not in words)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
    )


def config(family: str, vocabulary: int) -> transformers.PretrainedConfig:
    sizes = {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "intermediate_size": 64,
    }
    return {
        "bert": lambda: transformers.BertConfig(**sizes),
        "xlm-r": lambda: transformers.XLMRobertaConfig(
            **sizes, pad_token_id=1, bos_token_id=0, eos_token_id=2, max_position_embeddings=514
        ),
        "distilbert": lambda: transformers.DistilBertConfig(
            vocab_size=vocabulary, dim=32, n_layers=4, n_heads=4, hidden_dim=64
        ),
        "deberta": lambda: transformers.DebertaV2Config(
            **sizes,
            relative_attention=True,
            position_buckets=16,
            pos_att_type=["p2c", "c2p"],
            norm_rel_ebd="layer_norm",
        ),
        "modernbert": lambda: transformers.ModernBertConfig(
            **sizes, pad_token_id=0, cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3
        ),
        "albert": lambda: transformers.AlbertConfig(**sizes, embedding_size=16),
    }[family]()


def make_encoder(family: str, folder: Path) -> str:
    """Save a random encoder of a family; the folder's name is what loads it."""
    tokenizer = unigram_tokenizer() if family == "xlm-r" else wordpiece_tokenizer()
    with torch.random.fork_rng():
        torch.manual_seed(11)
        network = transformers.AutoModel.from_config(config(family, len(tokenizer)))
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def corpus(n_sentences: int, seed: int = 0, *, longest: int = 9) -> Corpus:
    """Sentences such as "ana went to york", with PER and LOC."""
    rng = random.Random(seed)
    sentences = []
    for _ in range(n_sentences):
        words, spans = [], []
        for _ in range(rng.randint(2, longest)):
            kind = rng.random()
            if kind < 0.2:
                spans.append(Span(len(words), len(words) + 1, "PER"))
                words.append(rng.choice(NAMES))
            elif kind < 0.4:
                spans.append(Span(len(words), len(words) + 1, "LOC"))
                words.append(rng.choice(PLACES))
            else:
                words.append(rng.choice(OTHERS))
        sentences.append(Sentence(tuple(words), tuple(spans), "en"))
    return Corpus(tuple(sentences), source=f"tiny-{seed}")


FAST = (
    "direct.learning_rate=1e-2",
    "meta.inner_learning_rate=1e-3",
    "meta.outer_learning_rate=1e-2",
    "adaptation.learning_rate=1e-3",
    "meta.steps=4",
    "meta.tasks_per_step=4",
    "direct.steps=30",
    "run.validate_every=2",
    "run.checkpoint_every=1",
    "run.device=cpu",
)
"""Overrides with which a tiny encoder learns in seconds."""

TAGS = TagSet(("LOC", "PER"))


def tagger_on(folder: str, *overrides: str) -> Tagger:
    """A tagger with a fresh linear layer on the encoder of a folder."""
    settings = load_settings("paper", ["run.device=cpu", *overrides])
    network = new_tagger_network(folder, TAGS.tags, seed=0)
    return Tagger(network, load_tokenizer(folder), TAGS, settings.encoder, settings.run)

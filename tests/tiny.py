"""Tiny encoders and corpora, made in code."""

import random
from pathlib import Path

import torch
import transformers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from metacross.model.encoder import new_tagger_network
from metacross.model.tagger import Tagger
from metacross.model.tokenizer import load_tokenizer
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


def gemma_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """SentencePiece BPE as in Gemma: spaces become ``▁``, there is no end piece."""
    specials = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>"]
    words = [*NAMES, *PLACES, *OTHERS]
    merges = [(f"▁{word[:end]}", word[end]) for word in words for end in range(1, len(word))] + [
        ("▁", word[0]) for word in words
    ]
    merges = list(dict.fromkeys(merges))
    pieces = [*specials, "▁", *LETTERS, *(a + b for a, b in merges)]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


def byte_level_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """Byte-level BPE as in Qwen: nothing is added to a sentence, there is no mask."""
    pattern = Regex(r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+")
    pieces = ["<|endoftext|>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    tokenizer = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, []))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(pattern, "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>"
    )


def llama_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """Byte-level BPE as in Llama 3: a start piece, no end piece, no padding, no mask."""
    tokenizer = byte_level_tokenizer().backend_tokenizer
    tokenizer.add_special_tokens(["<|begin_of_text|>"])
    start = tokenizer.token_to_id("<|begin_of_text|>")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<|begin_of_text|> $A", special_tokens=[("<|begin_of_text|>", start)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|begin_of_text|>", eos_token="<|endoftext|>"
    )


def t5_tokenizer() -> transformers.PreTrainedTokenizerFast:
    """Unigram as in T5: an end piece, no start piece, no mask."""
    tokenizer = unigram_tokenizer().backend_tokenizer
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


TOKENIZERS = {
    "xlm-r": unigram_tokenizer,
    "xlm": unigram_tokenizer,
    "eurobert": unigram_tokenizer,
    "t5": t5_tokenizer,
    "mt5": t5_tokenizer,
    "gemma3": gemma_tokenizer,
    "embedding-gemma": gemma_tokenizer,
    "qwen3": byte_level_tokenizer,
    "llama": llama_tokenizer,
}
"""Tokenizers of families that do not use WordPiece."""
DECODERS = ["gemma3", "embedding-gemma", "qwen3", "llama"]
"""Families that were pre-trained to read from left to right (EmbeddingGemma: made from one)."""
EARLIER_FAMILIES = ["bert", "xlm-r", "distilbert", "deberta", "modernbert", "albert"]
"""Families whose norms have the values of a new network."""
FAMILIES = [
    *("bert", "distilbert", "xlm-r", "xlm", "deberta", "mdeberta", "modernbert", "eurobert"),
    *("t5", "mt5"),
    *DECODERS,
]


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
        "mdeberta": lambda: transformers.DebertaV2Config(
            **sizes,
            relative_attention=True,
            position_buckets=16,
            pos_att_type=["p2c", "c2p"],
            share_att_key=True,
            norm_rel_ebd="layer_norm",
            position_biased_input=False,
            type_vocab_size=0,
        ),
        "albert": lambda: transformers.AlbertConfig(**sizes, embedding_size=16),
        "xlm": lambda: transformers.XLMConfig(
            vocab_size=vocabulary, emb_dim=32, n_layers=4, n_heads=4, n_langs=1, pad_index=1
        ),
        "eurobert": lambda: transformers.EuroBertConfig(
            **sizes, num_key_value_heads=2, pad_token_id=1, bos_token_id=0, eos_token_id=2
        ),
        "t5": lambda: transformers.T5Config(**_t5_sizes(vocabulary), feed_forward_proj="relu"),
        "mt5": lambda: transformers.MT5Config(**_t5_sizes(vocabulary)),
        "gemma3": lambda: transformers.Gemma3TextConfig(**sizes, **_GEMMA),
        "embedding-gemma": lambda: transformers.Gemma3TextConfig(
            **sizes, **_GEMMA, use_bidirectional_attention=True
        ),
        "qwen3": lambda: transformers.Qwen3Config(
            **sizes, num_key_value_heads=2, head_dim=8, pad_token_id=0
        ),
        "llama": lambda: transformers.LlamaConfig(**sizes, num_key_value_heads=2),
    }[family]()


_GEMMA = {
    "num_key_value_heads": 2,
    "head_dim": 16,
    "query_pre_attn_scalar": 16,
    "sliding_window": 8,
    "layer_types": ["sliding_attention", "full_attention"] * 2,
}


def _t5_sizes(vocabulary: int) -> dict[str, int]:
    sizes = {"vocab_size": vocabulary, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_heads": 4}
    return {**sizes, "num_layers": 4, "num_decoder_layers": 1, "pad_token_id": 1, "eos_token_id": 2}


def make_encoder(family: str, folder: Path) -> str:
    """Save a random encoder of a family; the folder's name is what loads it."""
    tokenizer = TOKENIZERS.get(family, wordpiece_tokenizer)()
    with torch.random.fork_rng():
        torch.manual_seed(11)
        network = transformers.AutoModel.from_config(config(family, len(tokenizer)))
        for name, weight in network.named_parameters():
            if "norm" in name.lower() and family not in EARLIER_FAMILIES:
                torch.nn.init.normal_(weight, std=0.1, mean=0.0 if "gemma" in family else 1.0)
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
    network = new_tagger_network(
        folder,
        TAGS.tags,
        seed=0,
        attention=settings.encoder.attention,
        layers=settings.encoder.layers,
    )
    return Tagger(network, load_tokenizer(folder), TAGS, settings.encoder, settings.run)

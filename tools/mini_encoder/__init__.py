"""Makes and tests the bundled encoder ``mini``; part of the repository, not of the wheel.

Run it from a clone, in an environment with the dependency group ``mini-encoder`` (onnx and
sentencepiece, which only ``distill`` needs)::

    pip install --editable . --group mini-encoder
    python -m tools.mini_encoder distill --text FOLDER --teacher WHEEL --output ENCODER
    python -m tools.mini_encoder test ENCODER --source en.conll --dev es=es.conll

``distill`` compresses the Multilingual Universal Sentence Encoder, the teacher, into a smaller
encoder, the student: it selects pieces (``vocabulary``), builds a tokenizer (``tokenizer``), copies
the weights (``student_initialization``) and trains the student (``distillation``) to reproduce the
teacher's outputs on augmented text (``text_stream``, ``augmentation``, ``targets``). ``test``
measures any encoder by entities (``entity_probe``) and by translations (``retrieval_probe``).
"""

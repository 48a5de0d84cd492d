//! Embeddings.

pub(crate) mod embedding_bag;

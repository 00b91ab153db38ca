//! What every mailbox must hold, kept while the load runs and checked at the end.

package encoder

// Row is where a sequence begins in the flat hidden states; its i-th token is i rows further.
func (b *Batch) Row(table, sequence int) int { return b.starts[table][sequence] }

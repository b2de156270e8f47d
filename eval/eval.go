// Package eval is the evaluation of Spider: exact set match, the partial scores of
// every clause, and hardness, as the official evaluation.py has them (values off, DISTINCT
// off, foreign keys from tables.json). It agrees with that script to the digit, its quirks
// included; comments name them where they are.
//
// Queries are read by a hand-written reader of the dialect that the official
// process_sql.py reads. That is less than SQL, and in places something else: a prediction
// that it refuses is scored as an empty query.
//
//	s := eval.NewSchema(db)
//	v, err := s.Match(gold, prediction)
//
// Source: Yu et al., Spider (EMNLP 2018), and github.com/taoyds/spider.
package eval

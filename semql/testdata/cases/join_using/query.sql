SELECT title FROM takes JOIN course USING (dept, number) WHERE grade = 1

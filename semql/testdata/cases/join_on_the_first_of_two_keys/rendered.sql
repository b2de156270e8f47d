SELECT T1.score FROM match AS T1 JOIN team AS T2 ON T1.home = T2.id WHERE T2.name = 'x'

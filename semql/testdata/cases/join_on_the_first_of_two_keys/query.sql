SELECT score FROM match JOIN team ON match.home = team.id WHERE team.name = 'x'

SELECT score FROM match JOIN team ON match.away = team.id WHERE team.name = 'x'

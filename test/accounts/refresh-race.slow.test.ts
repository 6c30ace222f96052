import { testRefreshRaces } from './refresh-race.ts';

testRefreshRaces(100);

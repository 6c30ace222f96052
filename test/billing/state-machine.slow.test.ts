import { testStateMachine } from './state-machine.ts';

testStateMachine(1_000);

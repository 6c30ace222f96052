import { testStateMachine } from './state-machine.ts';

testStateMachine(80);

import { testDriver } from './contract.ts';
import { startSandboxContract } from './sandbox-network.ts';

testDriver('sandbox', startSandboxContract);

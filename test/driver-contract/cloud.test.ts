import { startCloudContract } from './cloud-network.ts';
import { testDriver } from './contract.ts';

testDriver('whatsapp-cloud', startCloudContract, {
  isPosted: true,
  lacks: [
    ...(['pairing_code', 'profile', 'profile_update', 'reject_call'] as const),
    ...(['business_profile', 'business_catalog', 'business_collections'] as const),
  ],
});

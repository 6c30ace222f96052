import { testDriver } from './contract.ts';
import { startWhatsAppContract } from './whatsapp-network.ts';

testDriver('whatsapp', startWhatsAppContract);

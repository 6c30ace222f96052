import type { WireMessage } from './nodes.ts';
import type { Phone } from './phone.ts';
import { sendToSelf } from './phone-outbox.ts';
import { phoneOf, seconds, type World } from './world.ts';

interface Request {
  peerDataOperationRequestType?: string;
  placeholderMessageResendRequest?: { messageKey: Key }[];
}

interface Key {
  remoteJid: string;
  fromMe?: boolean;
  id: string;
  participant?: string;
}

/** A phone gives a linked device of its own the messages that the device asks for, since the network has withheld them. */
export function answerDevice(world: World, phone: Phone, deviceId: number, wire: WireMessage): void {
  const own = wire.deviceSentMessage as { message?: WireMessage } | undefined;
  const { peerDataOperationRequestMessage: request } = ((own?.message ?? wire).protocolMessage ?? {}) as {
    peerDataOperationRequestMessage?: Request;
  };
  const device = phone.devices.get(deviceId);
  if (request?.peerDataOperationRequestType !== 'PLACEHOLDER_MESSAGE_RESEND' || !device) return;
  phone.placeholdersAsked += 1;
  const coder = world.coding.proto.WebMessageInfo!;
  const results = (request.placeholderMessageResendRequest ?? []).flatMap(({ messageKey: key }) => {
    const author = phoneOf(world, key.participant ?? key.remoteJid);
    const sent = author?.sent.get(key.id);
    if (!author || !sent) return [];
    const info = {
      ...{ key, message: sent.message, messageTimestamp: Number(seconds()), pushName: author.name },
    };
    const webMessageInfoBytes = Buffer.from(coder.encode(coder.fromObject(info)).finish());
    return [{ placeholderMessageResendResponse: { webMessageInfoBytes } }];
  });
  sendToSelf(world, phone, device, {
    type: 'PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE',
    peerDataOperationRequestResponseMessage: {
      peerDataOperationRequestType: 'PLACEHOLDER_MESSAGE_RESEND',
      peerDataOperationResult: results,
    },
  });
}

import type { WebSocket } from 'ws';
import { Fields } from './fields.ts';
import type { LinkedDevice, LiveConnection } from './linked-device.ts';
import { children, node, type Stanza } from './nodes.ts';
import { NoiseServer } from './noise.ts';
import { confirmPairing, finishCode, offerRefs, readCandidate, startCode } from './pairing.ts';
import { answerQuestion } from './questions.ts';
import { takeAck, takeCall, takeChatState, takeMessage, takePresence, takeReceipt } from './relay.ts';
import { type Candidate, seconds, type World } from './world.ts';

/** One connection of a client: the handshake, the login or the offer to pair, and then its stanzas in order. */
export class Connection implements LiveConnection {
  readonly #world: World;
  readonly #socket: WebSocket;
  readonly #noise: NoiseServer;
  #said: 'nothing' | 'hello' | 'finish' = 'nothing';
  #candidate: Candidate | null = null;
  #device: LinkedDevice | null = null;
  /** Stanzas are handled one after another, as they came. */
  #order: Promise<void> = Promise.resolve();
  #isOver = false;

  constructor(world: World, socket: WebSocket) {
    this.#world = world;
    this.#socket = socket;
    this.#noise = new NoiseServer(world.identity);
    socket.on('message', (data: Buffer) => this.#receive(data));
    socket.on('close', () => this.#closed());
    // An error on a socket also closes it.
    socket.on('error', () => undefined);
  }

  send(stanza: Stanza): void {
    this.sendSealed(this.#world.coding.encodeNode(stanza));
  }

  sendSealed(plain: Uint8Array, spoil: (frame: Buffer) => Buffer = (frame) => frame): void {
    if (this.#isOver || this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(spoil(this.#noise.sealFrame(plain)));
  }

  end(stanza?: Stanza): void {
    if (stanza) this.send(stanza);
    this.#leave();
    this.#socket.close();
  }

  cut(): void {
    this.#leave();
    this.#socket.terminate();
  }

  #receive(data: Buffer): void {
    try {
      for (const frame of this.#noise.receive(data)) this.#takeFrame(frame);
    } catch (err) {
      this.#fail(err);
    }
  }

  #takeFrame(frame: Buffer): void {
    if (this.#said === 'nothing') {
      this.#socket.send(this.#noise.hello(frame));
      this.#said = 'hello';
    } else if (this.#said === 'hello') {
      const { clientKey, payload } = this.#noise.finish(frame);
      this.#said = 'finish';
      this.#begin(new Fields(payload), clientKey);
    } else {
      const opened = this.#noise.openFrame(frame);
      this.#order = this.#order
        .then(() => this.#world.coding.decodeNode(opened))
        .then((stanza) => this.#take(stanza))
        .catch((err) => this.#fail(err));
    }
  }

  #begin(payload: Fields, clientKey: Buffer): void {
    const version = payload.within(5).within(2);
    const refusal = this.#refusal([version.number(1), version.number(2), version.number(3)]);
    if (refusal !== null) {
      this.end(node('failure', { reason: String(refusal), location: 'rva' }));
      return;
    }
    if (payload.has(19)) {
      this.#candidate = readCandidate(this.#world, payload, clientKey, this);
      this.send(offerRefs(this.#candidate));
      return;
    }
    this.#login(String(payload.number(1)), payload.has(18) ? payload.number(18) : 0, clientKey);
  }

  #refusal(version: readonly [number, number, number]): number | null {
    const { oldestVersion, failLogin } = this.#world.faults;
    if (oldestVersion && isOlder(version, oldestVersion)) return 405;
    if (!failLogin || failLogin.times === 0) return null;
    failLogin.times -= 1;
    return failLogin.reason;
  }

  #login(number: string, id: number, clientKey: Buffer): void {
    const phone = this.#world.phones.get(number);
    const device = phone?.devices.get(id);
    if (!phone || !device || device.isLoggedOut || !device.noiseKey.equals(clientKey)) {
      this.end(node('failure', { reason: '401', location: 'rva' }));
      return;
    }
    if (phone.isBanned) {
      this.end(node('failure', { reason: '406', location: 'rva' }));
      return;
    }
    if (device.connection) {
      device.doubleLogins += 1;
      device.connection.end(node('stream:error', {}, [node('conflict', { type: 'replaced' })]));
    }
    device.connection = this;
    device.isCaughtUp = false;
    device.logins += 1;
    this.#device = device;
    this.send(
      node('success', {
        t: seconds(),
        location: 'rva',
        lid: `${phone.lidUser}:${id}@lid`,
        creation: seconds(),
        companion_enc_static: 'static',
      }),
    );
    if (device.pending.length === 0) {
      this.#taking(device);
      return;
    }
    const count = String(device.pending.length);
    this.send(
      node('ib', { from: '@s.whatsapp.net' }, [
        node('offline_preview', { count, message: count, receipt: '0', notification: '0', appdata: '0' }),
      ]),
    );
  }

  #taking(device: LinkedDevice): void {
    const count = String(device.pending.length);
    device.taking();
    this.send(node('ib', { from: '@s.whatsapp.net' }, [node('offline', { count })]));
  }

  #take(stanza: Stanza): void {
    if (this.#isOver) return;
    if (this.#candidate) {
      this.#takeFromCandidate(this.#candidate, stanza);
      return;
    }
    const device = this.#device;
    if (!device) return;
    const world = this.#world;
    if (stanza.tag === 'iq') this.#takeQuestion(device, stanza);
    else if (stanza.tag === 'message') takeMessage(world, device, stanza);
    else if (stanza.tag === 'receipt') takeReceipt(world, device, stanza);
    else if (stanza.tag === 'ack') takeAck(device, stanza);
    else if (stanza.tag === 'call') takeCall(world, device, stanza);
    else if (stanza.tag === 'presence') takePresence(world, device, stanza);
    else if (stanza.tag === 'chatstate') takeChatState(world, device, stanza);
    else if (stanza.tag === 'ib') {
      if (children(stanza, 'offline_batch').length > 0 && !device.isCaughtUp) this.#taking(device);
    } else world.problems.push(`An unknown stanza: ${stanza.tag}`);
  }

  #takeQuestion(device: LinkedDevice, stanza: Stanza): void {
    if (stanza.attrs.type === 'result') device.confirm('iq', stanza.attrs.id ?? '');
    if (stanza.attrs.type === 'result' || stanza.attrs.type === 'error') return;
    const [what] = children(stanza);
    if (what?.tag === 'remove-companion-device') {
      this.send(node('iq', { id: stanza.attrs.id, from: '@s.whatsapp.net', type: 'result' }));
      device.isLoggedOut = true;
      this.#world.phones.get(device.number)?.devices.delete(device.id);
      this.end();
      return;
    }
    this.send(answerQuestion(this.#world, device, stanza));
  }

  #takeFromCandidate(candidate: Candidate, stanza: Stanza): void {
    const { id, type } = stanza.attrs;
    const code = children(stanza, 'link_code_companion_reg')[0];
    if (type === 'set' && code) {
      const answer =
        code.attrs.stage === 'companion_hello' ? startCode(this.#world, candidate, code) : undefined;
      this.send(node('iq', { id, from: '@s.whatsapp.net', type: 'result' }, answer && [answer]));
      if (code.attrs.stage === 'companion_finish') finishCode(candidate, code);
    } else if (type === 'result' && children(stanza, 'pair-device-sign').length > 0) {
      confirmPairing(this.#world, candidate, stanza);
      this.#candidate = null;
      this.end(node('stream:error', { code: '515' }));
    } else if (type === 'get' || type === 'set') {
      this.send(node('iq', { id, from: '@s.whatsapp.net', type: 'result' }));
    }
  }

  #leave(): void {
    this.#isOver = true;
    this.#closed();
  }

  #closed(): void {
    if (this.#device?.connection === this) {
      this.#device.connection = null;
      this.#device.isCaughtUp = false;
    }
    this.#device = null;
    for (const ref of this.#candidate?.refs ?? []) this.#world.waiting.delete(ref);
    if (this.#candidate?.code) this.#world.waiting.delete(this.#candidate.code.ref);
    this.#candidate = null;
  }

  #fail(err: unknown): void {
    // A client that refuses our certificate just goes away, and its last bytes before that are not judged.
    if (!this.#isOver) this.#world.problems.push((err as Error).message);
    this.cut();
  }
}

function isOlder(version: readonly number[], oldest: readonly number[]): boolean {
  for (const [at, part] of oldest.entries()) {
    if (version[at] !== part) return (version[at] ?? 0) < part;
  }
  return false;
}

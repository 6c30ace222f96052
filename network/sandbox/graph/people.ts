/**
 * Events at the simulated Cloud API that come from outside: numbers are made, people write and read, and things go
 * wrong.
 */
import { randomBytes } from 'node:crypto';
import { envelopeFor, type GraphDeps, keep, storeMedia, tellStatus } from './answer.ts';
import {
  type GraphFault,
  type GraphMessage,
  type GraphTemplate,
  newGraphId,
  newWamid,
  type OfficialNumber,
  type Person,
  personOf,
} from './model.ts';
import type { Poster, PostingManners } from './post.ts';
import { rateTemplate, recategorizeTemplate, reviewTemplate } from './templates.ts';

export interface GraphPeople {
  /** A new official number; with `shares` under the app and the account of that one. */
  addNumber(number: { phone: string; name?: string; shares?: OfficialNumber }): OfficialNumber;
  /** Somebody by number or by id, made when they are new, and changed. */
  person(name: string, changes?: Partial<Person>): Person;
  /** The person writes; `more` is merged into the message. Answers its id. */
  write(
    from: string,
    number: OfficialNumber,
    type: string,
    part: unknown,
    more?: Record<string, unknown>,
  ): string;
  /** The number's owner writes on its phone. Answers the message's id. */
  echo(number: OfficialNumber, to: string, type: string, part: unknown): string;
  /** Media that somebody sends; answers its id. */
  addMedia(number: OfficialNumber, bytes: Buffer, mimeType: string): string;
  /** The person reads what it was sent. */
  read(person: string, number: OfficialNumber): void;
  status(message: GraphMessage, status: string, code?: number): void;
  /** The outcome of a review, a pause or the like. */
  review(template: GraphTemplate, status: string, reason?: string): void;
  rate(template: GraphTemplate, quality: string): void;
  recategorize(template: GraphTemplate, category: string): void;
  /** Posts any value. */
  post(number: OfficialNumber, field: string, value: Record<string, unknown>): void;
  fault(fault: GraphFault, where?: { person?: string; times?: number; probability?: number }): void;
  manners(number: OfficialNumber, manners: Partial<PostingManners>): void;
}

export function createPeople(deps: GraphDeps, poster: (number: OfficialNumber) => Poster): GraphPeople {
  const { world } = deps;
  return {
    addNumber({ phone, name = 'A shop', shares }) {
      const number: OfficialNumber = {
        ...{ id: newGraphId(), businessId: shares?.businessId ?? newGraphId(), phone, name },
        token: `EAA${randomBytes(24).toString('hex')}`,
        appSecret: shares?.appSecret ?? randomBytes(16).toString('hex'),
        ...{ isTokenAlive: true, perSecond: Number.POSITIVE_INFINITY, sentAt: [], webhook: null },
      };
      world.numbers.set(number.id, number);
      return number;
    },
    person: (name, changes = {}) => Object.assign(personOf(world, name), changes),
    write: (from, number, type, part, more = {}) =>
      write(deps, personOf(world, from), number, { type, [type]: part, ...more }),
    echo: (number, to, type, part) => echo(deps, number, to, { type, [type]: part }),
    addMedia: (number, bytes, mimeType) => storeMedia(deps, number, bytes, mimeType),
    read(name, number) {
      const person = personOf(world, name);
      for (const message of world.messages.values()) {
        if (!message.fromMe || message.person !== person.phone || message.numberId !== number.id) continue;
        if (!message.isRead) tellStatus(deps, number, person, message, 'read');
        message.isRead = true;
      }
    },
    status(message, status, code) {
      const number = world.numbers.get(message.numberId)!;
      tellStatus(deps, number, personOf(world, message.person), message, status, code);
    },
    review: (template, status, reason) => reviewTemplate(deps, template, status, reason),
    rate: (template, quality) => rateTemplate(deps, template, quality),
    recategorize: (template, category) => recategorizeTemplate(deps, template, category),
    post: (number, field, value) => deps.post(number, { field, value: { ...envelopeFor(number), ...value } }),
    fault: (fault, { person, times = 1, probability = 1 } = {}) =>
      void world.faults.push({ fault, person: person ?? null, left: times, probability }),
    manners: (number, manners) => void Object.assign(poster(number).manners, manners),
  };
}

type Said = Record<string, unknown> & { type: string };

function write(deps: GraphDeps, person: Person, number: OfficialNumber, said: Said): string {
  const id = newWamid();
  const names = {
    ...(person.showsPhone ? { from: person.phone } : {}),
    ...(person.userId ? { from_user_id: person.userId } : {}),
  };
  const contact = {
    profile: { name: person.name },
    ...(person.showsPhone ? { wa_id: person.phone } : {}),
    ...(person.userId ? { user_id: person.userId } : {}),
  };
  const message = { ...names, id, timestamp: secondsOf(deps.now()), ...said };
  keep(deps, number, person, { id, fromMe: false, type: said.type, body: message });
  const value = { ...envelopeFor(number), contacts: [contact], messages: [message] };
  deps.post(number, { field: 'messages', value });
  return id;
}

function echo(deps: GraphDeps, number: OfficialNumber, to: string, said: Said): string {
  const id = newWamid();
  const message = { from: number.phone, to, id, timestamp: secondsOf(deps.now()), ...said };
  keep(deps, number, personOf(deps.world, to), { id, fromMe: true, type: said.type, body: message });
  const value = { ...envelopeFor(number), message_echoes: [message] };
  deps.post(number, { field: 'smb_message_echoes', value });
  return id;
}

function secondsOf(date: Date): string {
  return String(Math.floor(date.getTime() / 1000));
}

import { ENDPOINTS } from '../endpoints/table.ts';
import { UsageError } from '../fault.ts';
import { didYouMean } from '../similar.ts';
import type { Offered } from './call-tool.ts';
import type { Tool } from './tool.ts';
import { TOOLS } from './tool-table.ts';
import { WAIT_TOOL } from './wait-tool.ts';

export interface Selection {
  /** Offer tools that send, change and delete, except those that `allow` must name. */
  allowWrites: boolean;
  /** Names of tools that are offered whatever the other options say. */
  allow: readonly string[];
  /** Groups of tools; an empty list means all. */
  groups: readonly string[];
}

/** The tools that a server offers, and why it does not offer the rest. */
export interface SelectedTools {
  offered: ReadonlyMap<string, Offered>;
  waits: boolean;
  whyNot(name: string): string;
}

/** Throws UsageError for an unknown name or group. */
export function selectTools({ allowWrites, allow, groups }: Selection): SelectedTools {
  const names = TOOLS.map(({ name }) => name);
  for (const name of allow)
    if (!names.includes(name)) throw new UsageError(`there is no tool ${name}${didYouMean(name, names)}`);
  const known = [...new Set(TOOLS.map(groupOf))];
  for (const group of groups)
    if (!known.includes(group))
      throw new UsageError(`there is no group ${group}${didYouMean(group, known)}: ${known.join(', ')}`);
  const isChosen = (group: string) => groups.length === 0 || groups.includes(group);
  const endpoints = new Map(ENDPOINTS.map((endpoint) => [endpoint.name, endpoint]));
  const offered = TOOLS.filter(
    (tool) =>
      allow.includes(tool.name) ||
      (isChosen(groupOf(tool)) && (tool.isReading || (allowWrites && !tool.isByNameOnly))),
  ).flatMap((tool): [string, Offered][] => {
    const endpoint = endpoints.get(tool.endpoint);
    return endpoint ? [[tool.name, { tool, endpoint }]] : [];
  });
  return {
    offered: new Map(offered),
    waits: isChosen('send') || isChosen('messages'),
    whyNot: (name) => whyNot(name, isChosen),
  };
}

/** The part of the contract that a tool belongs to; tools that send are a group of their own. */
export function groupOf({ endpoint }: Tool): string {
  return /^messages\.(send|forward)/.test(endpoint) ? 'send' : (endpoint.split('.')[0] as string);
}

function whyNot(name: string, isChosen: (group: string) => boolean): string {
  if (name === WAIT_TOOL.name)
    return `${name} belongs to the groups send and messages, which --tools leaves out`;
  const tool = TOOLS.find((each) => each.name === name);
  if (!tool) return `there is no tool ${name}`;
  const group = groupOf(tool);
  if (tool.isByNameOnly)
    return `${name} may lead data to another address, and is offered by its name alone: msgctl mcp --allow ${name}`;
  if (!isChosen(group)) return `${name} belongs to the group ${group}, which --tools leaves out`;
  return `${name} changes something, and this server only reads: start it with msgctl mcp --allow-writes`;
}

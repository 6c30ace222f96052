import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { importsOf, readSources } from './sources.ts';

/** The rooms of core, each with the rooms that it imports. */
function roomImports(): Map<string, Set<string>> {
  const rooms = new Map<string, Set<string>>();
  for (const source of readSources()) {
    const room = roomOf(source.file);
    if (!room) continue;
    const imported = rooms.get(room) ?? new Set();
    rooms.set(room, imported);
    for (const target of importsOf(source)) {
      const other = roomOf(target);
      if (other && other !== room) imported.add(other);
    }
  }
  return rooms;
}

function roomOf(file: string): string | undefined {
  return /^core\/([^/]+)\//.exec(file)?.[1];
}

/** The path from a room back to itself; null when there is none. */
function circleFrom(start: string, rooms: ReadonlyMap<string, ReadonlySet<string>>): string[] | null {
  const seen = new Set<string>();
  const walk = (room: string, way: string[]): string[] | null => {
    for (const next of rooms.get(room) ?? []) {
      if (next === start) return [...way, next];
      if (seen.has(next)) continue;
      seen.add(next);
      const found = walk(next, [...way, next]);
      if (found) return found;
    }
    return null;
  };
  return walk(start, [start]);
}

describe('the rooms of core', () => {
  it('import each other in one direction only', () => {
    const rooms = roomImports();
    assert.ok(rooms.size > 10);
    const circles = [...rooms.keys()].flatMap((room) => circleFrom(room, rooms)?.join(' -> ') ?? []);
    assert.deepEqual(circles, []);
  });

  it('are not below platform, which knows none of them', () => {
    assert.deepEqual([...(roomImports().get('platform') ?? [])], []);
  });
});

/** Things that wait, in lanes that have turns: within a lane in the order of arrival. */
export interface Lanes<T> {
  add(item: T): void;
  /** Takes `max` at most: equal parts of the lanes that wait, what one does not need going to the others. */
  take(max: number): T[];
  size(): number;
}

export function createLanes<T>(laneOf: (item: T) => string | number): Lanes<T> {
  /** The lane whose turn it is comes first. */
  const lanes = new Map<string | number, T[]>();
  let size = 0;

  /** One part of each lane; those that have more go to the end. */
  function takeTurn(max: number): T[] {
    const part = Math.max(1, Math.floor(max / lanes.size));
    const taken: T[] = [];
    for (const [name, lane] of [...lanes]) {
      if (taken.length === max) break;
      const items = lane.splice(0, Math.min(part, max - taken.length));
      for (const item of items) taken.push(item);
      lanes.delete(name);
      if (lane.length > 0) lanes.set(name, lane);
    }
    return taken;
  }

  return {
    add(item) {
      const name = laneOf(item);
      const lane = lanes.get(name);
      if (lane) lane.push(item);
      else lanes.set(name, [item]);
      size += 1;
    },
    take(max) {
      const taken: T[] = [];
      while (taken.length < max && lanes.size > 0)
        for (const item of takeTurn(max - taken.length)) taken.push(item);
      size -= taken.length;
      return taken;
    },
    size: () => size,
  };
}

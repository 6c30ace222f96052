/** Those that are present, in the order in which they came. */
export interface Roster<T> {
  readonly size: number;
  /** Adds `item`; returns the function that removes it, which may be called again. */
  add(item: T): () => void;
  /** A copy: items may come and go while it is read. */
  items(): T[];
}

interface Place<T> {
  item: T | null;
  previous: Place<T> | null;
  next: Place<T> | null;
}

/**
 * Holds large objects that come and go many times a second, such as requests. A `Map` or `Set` of them costs a
 * tenth of a busy process: it replaces its table each time as many were added as it has room for, V8 links the old
 * table to the new one, and from the first major collection on each table keeps what it held alive through all
 * minor ones (decision 0059). A list that clears its links keeps nothing.
 */
export function createRoster<T>(): Roster<T> {
  const ends: Place<T> = { item: null, previous: null, next: null };
  ends.previous = ends;
  ends.next = ends;
  let size = 0;

  function remove(place: Place<T>): void {
    const { previous, next } = place;
    if (previous === null || next === null) return;
    previous.next = next;
    next.previous = previous;
    place.item = null;
    place.previous = null;
    place.next = null;
    size -= 1;
  }

  return {
    get size() {
      return size;
    },
    add(item) {
      const place: Place<T> = { item, previous: ends.previous, next: ends };
      ends.previous!.next = place;
      ends.previous = place;
      size += 1;
      return () => remove(place);
    },
    items() {
      const items: T[] = [];
      for (let place = ends.next!; place !== ends; place = place.next!) items.push(place.item!);
      return items;
    },
  };
}

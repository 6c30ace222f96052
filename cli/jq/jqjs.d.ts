/** The part of the package that is used; it has no types of its own. It throws strings. */
declare module '@michaelhomer/jqjs' {
  export function compile(filter: string): (input: unknown) => Iterable<unknown>;
}

/** As much of it as is used; the package has no types of its own. It throws texts. */
declare module '@michaelhomer/jqjs' {
  export function compile(filter: string): (input: unknown) => Iterable<unknown>;
}

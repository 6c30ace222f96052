/** Writes a resolved type out as source text, in which only the types of `nameOf` and `kept` stay references. */
import ts from 'typescript';

export interface Printer {
  print(type: ts.Type): string;
}

export interface PrinterOptions {
  checker: ts.TypeChecker;
  /** The name of a type that is declared elsewhere, by its written-out form. */
  nameOf: (written: string) => string | undefined;
  /** Types of the SDK's own modules that stay references. */
  kept: ReadonlySet<string>;
  /** A comment for a property, by its dotted path from the root. */
  docOf?: (path: string) => string | undefined;
}

/** Throws for a shape it does not know, so that the build fails rather than publish a wrong type. */
// long: the cases of one recursion over TypeScript's types.
export function createPrinter({ checker, nameOf, kept, docOf }: PrinterOptions): Printer {
  function print(type: ts.Type, path = '', isRoot = true): string {
    const written = write(type, path);
    return (isRoot ? undefined : nameOf(written)) ?? written;
  }

  function write(type: ts.Type, path: string): string {
    const { flags } = type;
    const name = type.aliasSymbol?.name ?? type.symbol?.name;
    if (name && kept.has(name) && isOurs(type)) return `${name}${writeArguments(type, path)}`;
    if (flags & ts.TypeFlags.StringLiteral) return JSON.stringify((type as ts.StringLiteralType).value);
    if (flags & ts.TypeFlags.NumberLiteral) return String((type as ts.NumberLiteralType).value);
    if (flags & PLAIN) return checker.typeToString(type);
    if (type.isUnion()) return writeUnion(type.types, path);
    if (type.isIntersection() && checker.getPropertiesOfType(type).length === 0) {
      return type.types.map((part) => print(part, path, false)).join(' & ');
    }
    if (flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) return writeObject(type, path);
    throw new Error(`cannot write the type ${checker.typeToString(type)} at ${path || 'the root'}`);
  }

  /** Writes `true | false` as boolean, and keeps the name of a union that has null or a FormData beside it. */
  function writeUnion(types: readonly ts.Type[], path: string, dropped = 0): string {
    const loose = types
      .filter((type) => isLoose(type) && !(type.flags & dropped))
      .map((type) => checker.typeToString(type));
    const rest = types.filter((type) => !isLoose(type));
    const parts = rest.map((type) => print(type, path, false));
    const both = parts.includes('true') && parts.includes('false');
    const merged = both ? [...parts.filter((part) => part !== 'true' && part !== 'false'), 'boolean'] : parts;
    const joined = [...new Set(merged)].join(' | ');
    return [loose.length > 0 ? (nameOf(joined) ?? joined) : joined, ...loose].join(' | ');
  }

  function writeObject(type: ts.Type, path: string): string {
    if (checker.isTupleType(type)) {
      return `[${argumentsOf(type)
        .map((item) => print(item, path, false))
        .join(', ')}]`;
    }
    if (checker.isArrayType(type)) {
      const item = print(argumentsOf(type)[0] as ts.Type, path, false);
      const isReadonly = type.symbol.name === 'ReadonlyArray';
      return `${isReadonly ? 'readonly ' : ''}${/[|&=]| /.test(item) && !item.startsWith('{') ? `(${item})` : item}[]`;
    }
    if (isGlobal(type)) {
      const items = argumentsOf(type).map((item) => print(item, path, false));
      return items.length === 0 ? type.symbol.name : `${type.symbol.name}<${items.join(', ')}>`;
    }
    const [signature] = checker.getSignaturesOfType(type, ts.SignatureKind.Call);
    if (signature) return writeFunction(signature, path);
    const members = [
      ...checker.getIndexInfosOfType(type).map((info) => {
        return `[key: ${checker.typeToString(info.keyType)}]: ${print(info.type, path, false)};`;
      }),
      ...checker.getPropertiesOfType(type).map((property) => writeProperty(property, path)),
    ];
    return members.length === 0 ? '{}' : `{\n${members.join('\n')}\n}`;
  }

  function writeProperty(property: ts.Symbol, path: string): string {
    const at = path === '' ? property.name : `${path}.${property.name}`;
    const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0;
    const full = checker.getTypeOfSymbol(property);
    const type = isOptional ? withoutUndefined(full, at) : print(full, at, false);
    // `file?: undefined` forbids the field, so it needs no description.
    const doc = type === 'undefined' ? undefined : docOf?.(at);
    const name = /^[A-Za-z_$][\w$]*$/.test(property.name) ? property.name : JSON.stringify(property.name);
    return `${doc ? `${doc}\n` : ''}${name}${isOptional ? '?' : ''}: ${type};`;
  }

  function withoutUndefined(type: ts.Type, path: string): string {
    const text = type.isUnion()
      ? writeUnion(type.types, path, ts.TypeFlags.Undefined)
      : print(type, path, false);
    return nameOf(text) ?? text;
  }

  function writeFunction(signature: ts.Signature, path: string): string {
    const parameters = signature.getParameters().map((parameter) => {
      const declaration = parameter.valueDeclaration as ts.ParameterDeclaration;
      const isOptional = checker.isOptionalParameter(declaration);
      const type = checker.getTypeOfSymbol(parameter);
      const text = isOptional ? withoutUndefined(type, path) : print(type, path, false);
      return `${parameter.name}${isOptional ? '?' : ''}: ${text}`;
    });
    return `(${parameters.join(', ')}) => ${print(signature.getReturnType(), path, false)}`;
  }

  function writeArguments(type: ts.Type, path: string): string {
    const given = type.aliasTypeArguments ?? (type.flags & ts.TypeFlags.Object ? argumentsOf(type) : []);
    return given.length === 0 ? '' : `<${given.map((item) => print(item, path, false)).join(', ')}>`;
  }

  function argumentsOf(type: ts.Type): readonly ts.Type[] {
    return checker.getTypeArguments(type as ts.TypeReference);
  }

  return { print };
}

const EMPTY = ts.TypeFlags.Null | ts.TypeFlags.Undefined;
const PLAIN =
  ts.TypeFlags.Any |
  ts.TypeFlags.Unknown |
  ts.TypeFlags.String |
  ts.TypeFlags.Number |
  ts.TypeFlags.Boolean |
  ts.TypeFlags.BooleanLiteral |
  ts.TypeFlags.Null |
  ts.TypeFlags.Undefined |
  ts.TypeFlags.Void |
  ts.TypeFlags.Never;

/** True for null, undefined and FormData, which a union may have beside a named type. */
function isLoose(type: ts.Type): boolean {
  return (type.flags & EMPTY) !== 0 || (type.symbol?.name === 'FormData' && isGlobal(type));
}

/** True for a type that the language, the platform or Node.js declares, so that every program knows it. */
function isGlobal(type: ts.Type): boolean {
  const files = (type.symbol?.declarations ?? []).map((at) => at.getSourceFile().fileName);
  return (
    type.symbol?.name !== '__type' &&
    files.some((file) => /node_modules\/(typescript\/lib|@types\/node|undici-types)\//.test(file))
  );
}

function isOurs(type: ts.Type): boolean {
  const symbol = type.aliasSymbol ?? type.symbol;
  return (symbol.declarations ?? []).some((at) => /\/sdk\/[^/]+\.ts$/.test(at.getSourceFile().fileName));
}

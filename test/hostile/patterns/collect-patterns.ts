import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { projectRoot } from '../../support/process.ts';

export interface FoundPattern {
  /** Relative to the project. */
  file: string;
  line: number;
  source: string;
  flags: string;
}

/** Replaces a part of a pattern that is not known before it runs. */
const UNKNOWN = 'X';

/** Every regular expression in the sources of these folders, literal or by `new RegExp`. */
export function collectPatterns(folders: readonly string[]): FoundPattern[] {
  const files = folders.flatMap((folder) => globSync(`${folder}/**/*.{ts,tsx}`, { cwd: projectRoot }));
  return files
    .filter((file) => !/(^|\/)(node_modules|dist)\//.test(file))
    .sort()
    .flatMap((file) => patternsIn(file, readFileSync(path.join(projectRoot, file), 'utf8')));
}

export function patternsIn(file: string, text: string): FoundPattern[] {
  const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const found: FoundPattern[] = [];
  const add = (node: ts.Node, source: string, flags: string) => {
    const line = parsed.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    found.push({ file, line, source, flags });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      add(node, node.text.slice(1, end), node.text.slice(end + 1));
    } else if (
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      node.expression.getText() === 'RegExp'
    ) {
      const [source, flags] = node.arguments ?? [];
      add(node, source ? stringOf(parsed, source) : '', flags ? stringOf(parsed, flags) : '');
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return found;
}

/** The string value of an expression: literals, templates, and constants of the same file. */
function stringOf(file: ts.SourceFile, node: ts.Expression): string {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) return joined(file, node, (part) => part.text);
  if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'String.raw') {
    const { template } = node;
    if (ts.isNoSubstitutionTemplateLiteral(template)) return template.rawText ?? template.text;
    return joined(file, template, (part) => part.rawText ?? part.text);
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken)
    return stringOf(file, node.left) + stringOf(file, node.right);
  if (ts.isIdentifier(node)) {
    const initializer = constantIn(file, node.text);
    if (initializer) return stringOf(file, initializer);
  }
  if (ts.isRegularExpressionLiteral(node)) return node.text.slice(1, node.text.lastIndexOf('/'));
  return UNKNOWN;
}

type Part = ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail;

function joined(file: ts.SourceFile, node: ts.TemplateExpression, textOf: (part: Part) => string): string {
  const spans = node.templateSpans.map((span) => stringOf(file, span.expression) + textOf(span.literal));
  return textOf(node.head) + spans.join('');
}

function constantIn(file: ts.SourceFile, name: string): ts.Expression | undefined {
  let found: ts.Expression | undefined;
  const visit = (node: ts.Node): void => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name && node.initializer)
      found ??= node.initializer;
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

import assert from 'node:assert/strict';
import sax, { type SAXParser } from 'sax';
import type { HttpResponse } from '../http/client.ts';

/** One `response` of a multistatus body. Names of properties are in Clark notation: `{DAV:}getetag`. */
export interface MultistatusResponse {
  readonly href: string;
  /** The path: the decoded `href` without the prefix. */
  readonly path: string;
  /** The status of the resource, if it has no properties. */
  readonly status: number | undefined;
  /** The text of each property with the status 200. */
  readonly properties: Readonly<Record<string, string>>;
  /** The names of the properties by any other status. */
  readonly missing: Readonly<Record<number, readonly string[]>>;
}

interface Element {
  readonly name: string;
  text: string;
  readonly children: Element[];
}

/** Parses a multistatus response, which must be well-formed XML with declared namespaces. */
export function parseMultistatus(response: HttpResponse, prefix: string): MultistatusResponse[] {
  assert.equal(response.status, 207, response.body.toString());
  assert.match(response.headers['content-type'] ?? '', /^(?:application|text)\/xml; ?charset="?utf-8"?$/i);
  const root = parseXml(response.body.toString());
  assert.equal(root.name, '{DAV:}multistatus');
  return childrenOf(root, '{DAV:}response').map((each) => responseOf(each, prefix));
}

function responseOf(element: Element, prefix: string): MultistatusResponse {
  const href = textOf(element, '{DAV:}href');
  assert.ok(href.startsWith(prefix), href);
  const status = element.children.find(({ name }) => name === '{DAV:}status');
  const properties: Record<string, string> = {};
  const missing: Record<number, string[]> = {};
  for (const group of childrenOf(element, '{DAV:}propstat')) {
    const code = statusOf(textOf(group, '{DAV:}status'));
    for (const property of childrenOf(group, '{DAV:}prop').flatMap(({ children }) => children)) {
      if (code === 200) properties[property.name] = deepTextOf(property);
      else (missing[code] ??= []).push(property.name);
    }
  }
  const path = decodeURIComponent(href.slice(prefix.length));
  return { href, path, status: status && statusOf(status.text), properties, missing };
}

/** Returns the text of a property; or its elements, without the space between them. */
function deepTextOf({ text, children }: Element): string {
  if (children.length === 0) return text;
  return children.map((child) => `<${child.name}>${deepTextOf(child)}`).join('');
}

const childrenOf = ({ children }: Element, wanted: string) => children.filter(({ name }) => name === wanted);

const textOf = (element: Element, wanted: string) => childrenOf(element, wanted)[0]?.text.trim() ?? assert.fail(wanted);

function statusOf(line: string): number {
  const [, code] = /^HTTP\/1\.1 (\d{3}) /.exec(line.trim()) ?? assert.fail(line);
  return Number(code);
}

function parseXml(text: string): Element {
  const document: Element = { name: '', text: '', children: [] };
  const open = [document];
  const parser = sax.parser(true, { xmlns: true });
  const handlers: Pick<SAXParser, 'onerror' | 'onopentag' | 'onclosetag' | 'ontext'> = {
    onerror(error) {
      throw error;
    },
    onopentag(tag) {
      assert.ok('uri' in tag);
      const element = { name: `{${tag.uri}}${tag.local}`, text: '', children: [] };
      open.at(-1)?.children.push(element);
      open.push(element);
    },
    onclosetag: () => void open.pop(),
    ontext(part) {
      const element = open.at(-1);
      if (element) element.text += part;
    },
  };
  Object.assign(parser, handlers);
  parser.write(text).close();
  return document.children[0] ?? assert.fail(text);
}

import { css } from '@codemirror/lang-css';
import { html } from '@codemirror/lang-html';
import { javascript } from '@codemirror/lang-javascript';
import { json } from '@codemirror/lang-json';
import { markdown } from '@codemirror/lang-markdown';
import { xml } from '@codemirror/lang-xml';
import type { Extension } from '@codemirror/state';

/** Returns the support of a language of the web. */
export function webLanguage(grammar: string): Extension {
  switch (grammar) {
    case 'json':
      return json();
    case 'css':
      return css();
    case 'html':
    case 'htm':
    case 'xhtml':
      return html();
    case 'md':
    case 'markdown':
      return markdown();
    case 'xml':
    case 'svg':
    case 'xsl':
    case 'xsd':
      return xml();
    default:
      return grammar.startsWith('t')
        ? javascript({ typescript: true, jsx: grammar === 'tsx' })
        : javascript({ jsx: true });
  }
}

import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

/*
 * The look of the text, from the tokens of both themes. It is no style sheet of its own: the text is in a shadow root, because
 * CodeMirror adds its styles to a document by a `style` element, which the Content-Security-Policy forbids.
 */

/** The shape of all buttons with a text. */
const BUTTON = {
  minBlockSize: 'var(--control)',
  padding: '0 var(--space-3)',
  border: '1px solid var(--control-line)',
  borderRadius: 'var(--radius)',
};

const BASE = EditorView.theme({
  '&': {
    blockSize: '100%',
    color: 'var(--text)',
    backgroundColor: 'var(--canvas)',
    fontSize: 'var(--type-small)',
  },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--font-mono)',
    lineHeight: 'var(--leading-reading)',
    overscrollBehavior: 'contain',
  },
  '.cm-content': { paddingBlock: 'var(--space-3) var(--space-8)', caretColor: 'var(--accent)' },
  '.cm-line': { paddingInline: 'var(--space-3) var(--space-4)' },
  '.cm-cursor, .cm-dropCursor': { borderInlineStartColor: 'var(--accent)', borderInlineStartWidth: '2px' },
  '.cm-gutters': {
    backgroundColor: 'var(--canvas)',
    color: 'var(--muted)',
    borderInlineEnd: '1px solid var(--line)',
    fontVariantNumeric: 'tabular-nums',
  },
  '.cm-lineNumbers .cm-gutterElement': { paddingInline: 'var(--space-4) var(--space-2)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in oklab, var(--hover) 70%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--hover)', color: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--accent-soft-hover)',
  },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    backgroundColor: 'var(--accent-soft)',
    outline: '1px solid var(--accent)',
  },
  '.cm-selectionMatch': { backgroundColor: 'var(--accent-soft)' },
  '.cm-searchMatch': { backgroundColor: 'var(--accent-soft)', outline: '1px solid var(--accent)' },
  '.cm-searchMatch-selected': { backgroundColor: 'var(--accent-fill)', color: 'var(--on-accent)' },
  '.cm-searchMatch-selected *': { color: 'inherit' },
  '.cm-specialChar': { color: 'var(--danger)' },

  '.cm-panels': { backgroundColor: 'var(--surface)', color: 'var(--text)', fontFamily: 'system-ui' },
  '.cm-panels-top': { borderBlockEnd: '1px solid var(--line)' },
  '.cm-panel.cm-search': {
    display: 'flex',
    flexWrap: 'wrap',
    gap: 'var(--space-2)',
    alignItems: 'center',
    paddingBlock: 'var(--space-2)',
    paddingInline: 'var(--space-3) calc(var(--control) + var(--space-4))',
    fontSize: 'var(--type-small)',
  },
  '.cm-panel.cm-search br': { flexBasis: '100%', content: '""', display: 'block' },
  '.cm-panel.cm-search input, .cm-panel.cm-search button, .cm-panel.cm-search label': {
    margin: 0,
    fontSize: 'inherit',
  },
  '.cm-panel.cm-search label': { display: 'inline-flex', gap: 'var(--space-1)', alignItems: 'center' },
  '.cm-panel.cm-search input[type=checkbox]': { accentColor: 'var(--accent-fill)' },
  '.cm-textfield': {
    flex: '1 1 10rem',
    minInlineSize: '8rem',
    maxInlineSize: '22rem',
    minBlockSize: 'var(--control)',
    padding: '0 var(--space-2)',
    border: '1px solid var(--control-line)',
    borderRadius: 'var(--radius)',
    backgroundColor: 'var(--canvas)',
    color: 'inherit',
  },
  '.cm-button': {
    ...BUTTON,
    backgroundColor: 'transparent',
    backgroundImage: 'none',
    color: 'inherit',
    cursor: 'pointer',
  },
  '.cm-button:hover': { backgroundColor: 'var(--hover)' },
  '.cm-button:active': { backgroundImage: 'none' },
  '.cm-panel.cm-search [name=close]': {
    top: 'var(--space-2)',
    right: 'auto',
    insetInlineEnd: 'var(--space-2)',
    inlineSize: 'var(--control)',
    blockSize: 'var(--control)',
    borderRadius: 'var(--radius)',
    color: 'inherit',
    fontSize: 'var(--type-title)',
    cursor: 'pointer',
  },
  'button:focus-visible, input:focus-visible': { outline: '2px solid var(--focus)', outlineOffset: '1px' },

  '.conflict': {
    display: 'flex',
    flexWrap: 'wrap',
    gap: 'var(--space-2)',
    alignItems: 'center',
    padding: 'var(--space-1) var(--space-3)',
    fontFamily: 'system-ui',
    color: 'var(--text)',
    fontSize: 'var(--type-small)',
    fontWeight: 'var(--weight-medium)',
  },
  '.conflict .label': { marginInlineEnd: 'auto' },
  '.conflict.mine, .conflict-mine': { backgroundColor: 'var(--accent-soft)' },
  '.conflict.theirs, .conflict-theirs': { backgroundColor: 'color-mix(in oklab, var(--success) 16%, var(--canvas))' },
  '.conflict button': {
    ...BUTTON,
    backgroundColor: 'var(--surface)',
    color: 'inherit',
    font: 'inherit',
    cursor: 'pointer',
  },
  '.conflict button:hover': { backgroundColor: 'var(--hover)' },
  '.incoming-line': { backgroundColor: 'color-mix(in oklab, var(--success) 14%, transparent)' },
});

const HIGHLIGHT = HighlightStyle.define([
  {
    tag: [tags.keyword, tags.typeName, tags.operatorKeyword, tags.modifier, tags.meta, tags.processingInstruction],
    color: 'var(--code-word)',
  },
  {
    tag: [
      tags.function(tags.variableName),
      tags.function(tags.propertyName),
      tags.definition(tags.variableName),
      tags.className,
      tags.tagName,
      tags.propertyName,
      tags.heading,
    ],
    color: 'var(--code-name)',
  },
  {
    tag: [tags.string, tags.special(tags.string), tags.regexp, tags.inserted, tags.monospace],
    color: 'var(--code-text)',
  },
  {
    tag: [tags.number, tags.bool, tags.null, tags.atom, tags.attributeName, tags.deleted, tags.escape, tags.color],
    color: 'var(--code-value)',
  },
  { tag: [tags.comment, tags.quote], color: 'var(--code-comment)', fontStyle: 'italic' },
  { tag: [tags.link, tags.url], color: 'var(--accent-text)', textDecoration: 'underline' },
  { tag: tags.heading, fontWeight: 'var(--weight-strong)' },
  { tag: tags.strong, fontWeight: 'var(--weight-strong)' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strikethrough, textDecoration: 'line-through' },
  { tag: tags.invalid, color: 'var(--danger)' },
]);

/** Code is left-to-right in all languages, and so are its line numbers. */
export const LEFT_TO_RIGHT: Extension = EditorView.theme({ '.cm-scroller': { direction: 'ltr' } });

export const THEME: Extension = [BASE, syntaxHighlighting(HIGHLIGHT)];

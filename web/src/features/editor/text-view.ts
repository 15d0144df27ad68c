import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, codeFolding, indentOnInput, indentUnit } from '@codemirror/language';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import {
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { isProse } from '../../platform/preview-kinds.ts';
import type { FullLanguage } from '../../platform/text/language.ts';
import { type BaseVersion, baseAfter, conflictSupport } from './conflicts.ts';
import { loadLanguage } from './languages/languages.ts';
import { LEFT_TO_RIGHT, THEME } from './theme.ts';

export interface TextViewOptions {
  /** The element that the editor fills. */
  readonly parent: HTMLElement;
  readonly name: string;
  readonly text: string;
  readonly isReadOnly: boolean;
  readonly isWrapped: boolean;
  readonly language: FullLanguage;
  /** Called after each change of the text, and of the version that it is based on. */
  readonly onChange: (base: BaseVersion | undefined) => void;
  readonly onMove: (position: CursorPosition) => void;
  readonly onSave: () => void;
}

/** The editor of a text. */
export interface TextView {
  readonly view: EditorView;
  readonly setWrapped: (isWrapped: boolean) => void;
  readonly setReadOnly: (isReadOnly: boolean) => void;
}

/** Creates the editor in a shadow root: see `theme.ts`. */
export function createTextView(options: TextViewOptions): TextView {
  const { parent, name, text, isReadOnly, isWrapped, language, onChange, onMove, onSave } = options;
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: 'open' });
  const wrapping = new Compartment();
  const reading = new Compartment();
  const syntax = new Compartment();
  const wrappingOf = (on: boolean): Extension => (on ? EditorView.lineWrapping : []);
  const readingOf = (on: boolean): Extension => [EditorState.readOnly.of(on), on ? [] : highlightActiveLine()];
  const { editor } = language.text;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        // Carriage returns of mixed line endings stay in the text.
        EditorState.lineSeparator.of('\n'),
        EditorView.clipboardInputFilter.of((pasted) => pasted.replace(/\r\n?/g, '\n')),
        EditorState.phrases.of(phrasesOf(language)),
        EditorState.allowMultipleSelections.of(true),
        EditorState.tabSize.of(4),
        indentUnit.of(indentationOf(text)),
        history(),
        lineNumbers(),
        highlightSpecialChars(),
        highlightActiveLineGutter(),
        drawSelection(),
        dropCursor(),
        indentOnInput(),
        bracketMatching(),
        codeFolding(),
        search({ top: true }),
        highlightSelectionMatches(),
        conflictSupport({
          mine: editor.mine,
          theirs: editor.theirs,
          keep: { mine: editor.keepMine, theirs: editor.keepTheirs, both: editor.keepBoth },
          kept: editor.kept,
        }),
        keymap.of([
          { key: 'Mod-s', preventDefault: true, run: () => (onSave(), true) },
          ...searchKeymap,
          ...historyKeymap,
          indentWithTab,
          ...defaultKeymap,
        ]),
        isProse(name) ? EditorView.perLineTextDirection.of(true) : LEFT_TO_RIGHT,
        EditorView.contentAttributes.of({
          'aria-label': language.text.previews.contentsOf({ name }),
          spellcheck: isProse(name) ? 'true' : 'false',
          translate: 'no',
        }),
        EditorView.updateListener.of(({ docChanged, selectionSet, transactions, state }) => {
          if (docChanged || transactions.some(({ effects }) => effects.length > 0)) {
            onChange(transactions.map(baseAfter).findLast((base) => base !== undefined));
          }
          if (docChanged || selectionSet) onMove(positionOf(state));
        }),
        wrapping.of(wrappingOf(isWrapped)),
        reading.of(readingOf(isReadOnly)),
        syntax.of([]),
        THEME,
      ],
    }),
  });
  const load = async () => {
    const support = await loadLanguage(name, text);
    if (support) view.dispatch({ effects: syntax.reconfigure(support) });
  };
  // Without it, the text has no colours.
  void load().catch(() => {});
  return {
    view,
    setWrapped: (on) => view.dispatch({ effects: wrapping.reconfigure(wrappingOf(on)) }),
    setReadOnly: (on) => view.dispatch({ effects: reading.reconfigure(readingOf(on)) }),
  };
}

export interface CursorPosition {
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

function positionOf({ doc, selection }: EditorState): CursorPosition {
  const { head } = selection.main;
  const line = doc.lineAt(head);
  return { line: line.number, column: head - line.from + 1 };
}

/** Returns the indentation that the lines of a text have. */
function indentationOf(text: string): string {
  const indented = /^(?<indent>\t|[ ]{2,8})\S/m.exec(text)?.groups?.['indent'];
  return indented ?? '  ';
}

/** Returns the texts of CodeMirror, whose keys are its English texts. */
function phrasesOf({ text: { editor } }: FullLanguage): Record<string, string> {
  const { search: find } = editor;
  return {
    Find: find.find,
    Replace: find.replace,
    next: find.next,
    previous: find.previous,
    all: find.all,
    'match case': find.matchCase,
    regexp: find.regexp,
    'by word': find.byWord,
    replace: find.replaceOne,
    'replace all': find.replaceAll,
    close: find.close,
    'current match': find.currentMatch,
    'on line': find.onLine,
    'replaced match on line $': find.replacedOnLine,
    'replaced $ matches': find.replacedMatches,
    'Go to line': find.goToLine,
    go: find.go,
    'Selection deleted': find.selectionDeleted,
    'Control character': find.controlCharacter,
    'folded code': find.folded,
    unfold: find.unfold,
  };
}

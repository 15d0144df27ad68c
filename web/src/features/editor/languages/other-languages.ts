import { StreamLanguage, type StreamParser } from '@codemirror/language';
import { c, cpp, csharp, java, kotlin, scala } from '@codemirror/legacy-modes/mode/clike';
import { less, sCSS } from '@codemirror/legacy-modes/mode/css';
import { diff } from '@codemirror/legacy-modes/mode/diff';
import { dockerFile } from '@codemirror/legacy-modes/mode/dockerfile';
import { go } from '@codemirror/legacy-modes/mode/go';
import { lua } from '@codemirror/legacy-modes/mode/lua';
import { perl } from '@codemirror/legacy-modes/mode/perl';
import { powerShell } from '@codemirror/legacy-modes/mode/powershell';
import { properties } from '@codemirror/legacy-modes/mode/properties';
import { r } from '@codemirror/legacy-modes/mode/r';
import { ruby } from '@codemirror/legacy-modes/mode/ruby';
import { rust } from '@codemirror/legacy-modes/mode/rust';
import { shell } from '@codemirror/legacy-modes/mode/shell';
import { standardSQL } from '@codemirror/legacy-modes/mode/sql';
import { swift } from '@codemirror/legacy-modes/mode/swift';
import { toml } from '@codemirror/legacy-modes/mode/toml';
import type { Extension } from '@codemirror/state';

/** Returns the support of a language whose mode is small, because it does not parse the whole text. */
export function otherLanguage(grammar: string): Extension {
  const mode = MODES[grammar];
  return mode ? StreamLanguage.define(mode) : [];
}

const MODES: Readonly<Record<string, StreamParser<unknown>>> = {
  bash: shell,
  sh: shell,
  zsh: shell,
  sql: standardSQL,
  toml,
  ini: properties,
  dockerfile: dockerFile,
  diff,
  patch: diff,
  go,
  rs: rust,
  rust,
  c,
  h: c,
  cc: cpp,
  cpp,
  hpp: cpp,
  cs: csharp,
  java,
  kt: kotlin,
  scala,
  rb: ruby,
  ruby,
  swift,
  lua,
  pl: perl,
  perl,
  ps1: powerShell,
  r,
  scss: sCSS,
  less,
};

import { effect, type ReadonlySignal } from '@preact/signals';
import type { FullLanguage } from '../../platform/text/language.ts';
import type { Messages } from '../messages.ts';
import { resultOf } from './result.ts';
import type { UploadSummary } from './tally.ts';

interface AnnouncingOptions {
  readonly summary: ReadonlySignal<UploadSummary>;
  readonly isBusy: ReadonlySignal<boolean>;
  readonly messages: Messages;
  readonly language: ReadonlySignal<FullLanguage>;
}

/** The parts at which those who listen are told how far the uploads are. */
const PARTS = [0.25, 0.5, 0.75];

/** Milliseconds between two of these: a few small files are over before they are read out. */
const LEAST = 4_000;

/** Reads out how the uploads go, at their start, their quarters and their end, for as long as the page lives. */
export function announceUploads({ summary, isBusy, messages, language }: AnnouncingOptions): void {
  let wasBusy = false;
  let told = 0;
  let toldAt = 0;

  effect(() => {
    const now = summary.value;
    const { text, formats } = language.peek();
    if (isBusy.value !== wasBusy) {
      wasBusy = isBusy.value;
      told = 0;
      toldAt = Date.now();
      const { waiting, sending } = now.count;
      if (!wasBusy) messages.announce(resultOf(now, text).join(', '));
      else if (waiting + sending > 0) messages.announce(text.uploads.announceStart({ count: waiting + sending }));
      return;
    }
    const part = PARTS.findLast((candidate) => now.part >= candidate) ?? 0;
    if (!wasBusy || part <= told || Date.now() - toldAt < LEAST) return;
    told = part;
    toldAt = Date.now();
    messages.announce(text.uploads.announcePart({ percentage: formats.percent(part) }));
  });
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deniedCalls, systemCallFilter } from '../../src/thumbnails/system-call-filter.ts';

const [X64, ARM64, I386] = [0xc000_003e, 0xc000_00b7, 0x4000_0003];
const [ALLOW, KILL, EPERM, ENOSYS] = [0x7fff_0000, 0x8000_0000, 0x0005_0001, 0x0005_0026];

/** Runs a filter like the kernel, for a system call with this first argument. Returns the action. */
function run(filter: Buffer, audit: number, number: number, argument = 0n): number {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number, 0);
  data.writeUInt32LE(audit, 4);
  data.writeBigUInt64LE(argument, 16);
  let accumulator = 0;
  for (let at = 0; ; at += 8) {
    const [code, value] = [filter.readUInt16LE(at), filter.readUInt32LE(at + 4)];
    const branch = (holds: boolean) => 8 * filter.readUInt8(at + (holds ? 2 : 3));
    if (code === 0x06) return value;
    if (code === 0x20) accumulator = data.readUInt32LE(value);
    else if (code === 0x15) at += branch(accumulator === value);
    else if (code === 0x35) at += branch(accumulator >= value);
    else if (code === 0x45) at += branch((accumulator & value) !== 0);
    else assert.fail(`unknown instruction ${code}`);
  }
}

describe('The filter of system calls', () => {
  for (const [arch, audit, clone, allowed] of [
    ['x64', X64, 56, [0, 1, 9, 59, 202, 231, 257]],
    ['arm64', ARM64, 220, [56, 63, 64, 93, 98, 221, 222]],
  ] as const) {
    it(`denies calls and namespaces on ${arch}, and kills programs of another architecture`, () => {
      const filter = systemCallFilter(arch);
      assert.ok(filter);
      const denied = [...deniedCalls(arch).values()];
      assert.equal(new Set(denied).size, denied.length);
      for (const number of denied) assert.equal(run(filter, audit, number), EPERM, String(number));
      for (const number of allowed) assert.equal(run(filter, audit, number), ALLOW, String(number));
      // The flags of threads and processes.
      for (const flags of [0x3d0f00n, 0x1200011n, 17n]) assert.equal(run(filter, audit, clone, flags), ALLOW);
      for (const flag of [0x20000n, 0x2000000n, 0x4000000n, 0x8000000n, 0x10000000n, 0x20000000n, 0x40000000n]) {
        assert.equal(run(filter, audit, clone, flag | 17n), EPERM, flag.toString(16));
      }
      assert.equal(run(filter, audit, 435), ENOSYS);
      assert.equal(run(filter, audit, 0x4000_0000 + 41), ENOSYS);
      for (const other of [X64, ARM64, I386]) if (other !== audit) assert.equal(run(filter, other, 1), KILL);
    });
  }

  it('does not exist for other architectures', () => {
    assert.equal(systemCallFilter('riscv64'), undefined);
    assert.equal(deniedCalls('riscv64').size, 0);
  });
});

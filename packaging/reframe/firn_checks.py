"""ReFrame tests of an installed Firn: hello on 1, 2 and more nodes, its bits and its speed beside a reference file.

    reframe -C SITE.py -c share/firn/reframe/firn_checks.py -r
    reframe ... -S modules=firn/0.2.0 -S per_node=2 -S threads=16

FIRN_NODES lists the numbers of nodes (1,2,4). FIRN_REFERENCE is the reference file, by default reference.json
beside this one: digests of the last frame by version and instruction set, the same on any number of nodes, and
speeds by system and partition. A test without an entry fails and prints the entry to add.
"""
import json
import os

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import (parameter, performance_function, run_before, sanity_function, variable)

NODES = [int(n) for n in os.environ.get('FIRN_NODES', '1,2,4').split(',')]
HERE = os.path.dirname(os.path.abspath(__file__))
SCENES = os.path.join(os.environ.get('FIRN_HOME', os.path.join(HERE, '..', '..', '..')), 'share', 'firn', 'scenes')


@rfm.simple_test
class firn_hello(rfm.RunOnlyRegressionTest):
    nodes = parameter(NODES)
    per_node = variable(int, value=1)  # ranks
    threads = variable(int, value=1)
    end = variable(str, value='0.01')  # s, simulated
    isa = variable(str, value='')  # portable, avx2 or avx512; empty: the best that all nodes have
    scene = variable(str, value=os.path.join(SCENES, 'hello.yml'))
    reference_file = variable(str, value=os.environ.get('FIRN_REFERENCE', os.path.join(HERE, 'reference.json')))

    descr = 'a snowball hits a wall of snow: bits and speed'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    sourcesdir = None
    executable = 'firn'
    time_limit = '20m'
    maintainers = ['firn']
    tags = {'production', 'maintenance'}

    @run_before('run')
    def set_job(self):
        self.num_tasks = self.nodes * self.per_node
        self.num_tasks_per_node = self.per_node
        self.num_cpus_per_task = self.threads
        self.executable_opts = ['run', self.scene, '--output', 'out', '--force', '--threads', str(self.threads),
                                '--set', f'time.end={self.end}', '--set', 'output.precision=f64']
        if self.isa:
            self.executable_opts += ['--isa', self.isa]
        self.postrun_cmds = ['firn export "$(ls out/frames/frame_*.h5 | tail -n 1)" -o last.csv',
                             'sha256sum last.csv']

    def _entry(self):
        try:
            with open(self.reference_file) as file:
                return json.load(file)
        except FileNotFoundError:
            return {}

    def _record(self):
        with open(os.path.join(self.stagedir, 'out', 'run.json')) as file:
            return json.load(file)

    @sanity_function
    def check_bits(self):
        sn.assert_found(r'^done: ', self.stderr, 'the run did not come to its end').evaluate()
        record = self._record()
        digest = sn.extractsingle(r'^([0-9a-f]{64})\s+last\.csv', self.stdout, 1).evaluate()
        key = f'{record["firn"]} {record["kernels"]} {self.end}'
        known = self._entry().get('bits', {}).get(key)
        return sn.all([
            sn.assert_eq(record['ranks'], self.num_tasks, 'it ran on {0} ranks, expected {1}'),
            sn.assert_true(known, f'no reference of the bits; add to {self.reference_file}, '
                                  f'below "bits": "{key}": "{digest}"'),
            sn.assert_eq(digest, known, 'the bits are {0}, expected {1}'),
        ])

    @performance_function('particle-steps/s')
    def speed(self):
        record = self._record()
        return record['particle_steps'] / record['seconds']['stepping']

    @run_before('performance')
    def set_reference(self):
        partition = self.current_partition.fullname
        value = self._entry().get('speed', {}).get(partition, {}).get(str(self.nodes))
        if value is not None:  # without an entry ReFrame reports the speed and compares it with nothing
            self.reference = {partition: {'speed': (value, -0.15, None, 'particle-steps/s')}}
